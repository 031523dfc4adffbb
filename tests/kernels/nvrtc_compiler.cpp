#include "tests/kernels/nvrtc_compiler.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <regex>

namespace smelt::kernel_tests {

template <class F> void NvrtcCompiler::resolve(void *library, const char *name, F *&function) {
  function = reinterpret_cast<F *>(dlsym(library, name));
  if (!function)
    error_ = std::string("NVRTC has no ") + name;
}

namespace {

/// NVRTC of the wheel that tools/setup.sh installs, with the built-ins that it would not find
/// there.
void *openWheel() {
  namespace fs = std::filesystem;
  std::error_code error;
  for (const auto &python : fs::directory_iterator(SMELT_SOURCE_DIR "/build/venv/lib", error)) {
    fs::path folder = python.path() / "site-packages/nvidia/cu13/lib";
    if (void *library = dlopen((folder / "libnvrtc.so.13").c_str(), RTLD_NOW | RTLD_LOCAL)) {
      dlopen((folder / "libnvrtc-builtins.so.13.0").c_str(), RTLD_NOW | RTLD_LOCAL);
      return library;
    }
  }
  return nullptr;
}

} // namespace

NvrtcCompiler::NvrtcCompiler(const std::string &path) {
  void *library = path.empty() ? openWheel() : dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  for (const char *name : {"libnvrtc.so.13", "/usr/local/cuda/lib64/libnvrtc.so.13", "libnvrtc.so"})
    if (!library && path.empty())
      library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    error_ = "NVRTC (libnvrtc.so.13) was not found";
    return;
  }
  resolve(library, "nvrtcCreateProgram", createProgram_);
  resolve(library, "nvrtcCompileProgram", compileProgram_);
  resolve(library, "nvrtcDestroyProgram", destroyProgram_);
  resolve(library, "nvrtcGetProgramLogSize", getLogSize_);
  resolve(library, "nvrtcGetProgramLog", getLog_);
  resolve(library, "nvrtcGetCUBINSize", getCubinSize_);
  resolve(library, "nvrtcGetCUBIN", getCubin_);
}

Compiled NvrtcCompiler::compile(const std::string &text, const std::string &architecture,
                                const std::vector<std::string> &includeFolders) const {
  std::vector<std::string> options = {"--gpu-architecture=" + architecture, "--std=c++17",
                                      "-default-device", "--minimal", "--ptxas-options=-v"};
  for (const std::string &folder : includeFolders)
    options.push_back("-I" + folder);
  std::vector<const char *> pointers;
  for (const std::string &option : options)
    pointers.push_back(option.c_str());

  Compiled result;
  Program program = nullptr;
  if (createProgram_(&program, text.c_str(), "kernel.cu", 0, nullptr, nullptr) != 0) {
    result.log = "nvrtcCreateProgram failed";
    return result;
  }
  result.succeeded = compileProgram_(program, int(pointers.size()), pointers.data()) == 0;
  size_t size = 0;
  if (getLogSize_(program, &size) == 0 && size > 1) {
    result.log.resize(size);
    getLog_(program, result.log.data());
    result.log.pop_back(); // the terminating zero
  }
  if (result.succeeded && getCubinSize_(program, &size) == 0) {
    result.cubin.resize(size);
    getCubin_(program, result.cubin.data());
  }
  destroyProgram_(&program);
  return result;
}

namespace {
/// The largest of what the assembler says about each kernel of a text; -1 where it says nothing.
int largestNumber(const std::string &log, const char *pattern) {
  std::regex regex(pattern);
  int largest = -1;
  for (std::sregex_iterator match(log.begin(), log.end(), regex), end; match != end; ++match)
    largest = std::max(largest, std::stoi((*match)[1]));
  return largest;
}
} // namespace

int spilledBytes(const std::string &log) {
  int stores = largestNumber(log, "([0-9]+) bytes spill stores");
  int loads = largestNumber(log, "([0-9]+) bytes spill loads");
  int stack = largestNumber(log, "([0-9]+) bytes stack frame");
  return stores < 0 ? -1 : stores + loads + stack;
}

int registers(const std::string &log) { return largestNumber(log, "Used ([0-9]+) registers"); }

} // namespace smelt::kernel_tests
