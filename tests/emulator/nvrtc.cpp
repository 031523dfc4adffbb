// A libnvrtc.so.13 whose kernels run on the host: it preprocesses and rewrites their text and has a C++ compiler make a
// shared library of it. That is what it hands out as the cubin: an ELF file, too, that says of its kernels what the
// runtime asks a cubin. emulator's libcuda.so.1 loads it.
#include "tests/emulator/rewrite.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <vector>

namespace smelt::emulator {
namespace {

namespace fs = std::filesystem;

struct Program {
  std::string text;
  std::vector<std::pair<std::string, std::string>> headers; ///< name and text
  std::string log, library;
};

/// A folder of its own, removed with what is in it.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string name = fs::temp_directory_path() / "smelt-emulator-XXXXXX";
    if (mkdtemp(name.data()) == nullptr)
      throw std::runtime_error("no temporary folder: " + name);
    path = name;
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  fs::path path;
};

void writeFile(const fs::path &path, const std::string &text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string readFile(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Runs a command whose messages go to `log`; throws them where it fails.
void runCommand(const std::string &command, const fs::path &log) {
  if (std::system((command + " 2>'" + log.string() + "'").c_str()) != 0)
    throw std::runtime_error(command + "\n" + readFile(log));
}

/// After the rewritten text: what makes kernels known, and lets them be called.
std::string entriesOf(const std::vector<std::string> &kernels) {
  std::string text = "\nusing namespace smelt;"; // where some of them are
  for (const std::string &name : kernels)
    text += "\nextern \"C\" void smelt_run_" + name +
            "(smelt::emulator::Machine &machine, void *const *parameters) {\n"
            "  smelt::emulator::call(" +
            name +
            ", machine, parameters);\n}\n"
            "__attribute__((section(\".nv.info." +
            name + "\"), used)) constinit auto smelt_info_" + name +
            " = smelt::emulator::describe(" + name + ");\n";
  return text;
}

/// The value of --gpu-architecture=sm_90a, as __CUDA_ARCH__ has it.
std::string architectureOf(const std::string &option) {
  size_t digits = option.find_first_of("0123456789");
  return std::to_string(10 * std::atoi(option.c_str() + std::min(digits, option.size())));
}

void compile(Program &program, int count, const char *const *options) {
  TemporaryFolder folder;
  std::string flags = " -I'" + folder.path.string() + "'";
  for (int i = 0; i < count; ++i) {
    std::string option = options[i];
    if (option.starts_with("--gpu-architecture="))
      flags += " -D__CUDA_ARCH__=" + architectureOf(option);
    else if (option.starts_with("-I"))
      flags += " '" + option + "'";
    else if (option.starts_with("--include-path="))
      flags += " -I'" + option.substr(std::strlen("--include-path=")) + "'";
  }
  for (const auto &[name, text] : program.headers)
    writeFile(folder.path / name, text);
  fs::path source = folder.path / "kernel.cu.cpp", preprocessed = folder.path / "preprocessed.cpp",
           host = folder.path / "host.cpp", library = folder.path / "kernel.so",
           log = folder.path / "log";
  writeFile(source, program.text);
  runCommand(SMELT_EMULATOR_COMPILER " -std=c++20 -E -P" + flags + " '" + source.string() +
                 "' -o '" + preprocessed.string() + "'",
             log);
  writeFile(host, rewriteForHost(readFile(preprocessed)) + entriesOf(kernelNames(program.text)));
  runCommand(SMELT_EMULATOR_COMPILER " " SMELT_EMULATOR_FLAGS " -include-pch " SMELT_EMULATOR_HEADER
                                     " -shared '" +
                 host.string() + "' -o '" + library.string() + "'",
             log);
  program.library = readFile(library);
}

Program *programOf(void *handle) { return static_cast<Program *>(handle); }

int give(const std::string &text, char *target, bool endsInZero) {
  std::memcpy(target, text.c_str(), text.size() + endsInZero);
  return 0;
}

} // namespace
} // namespace smelt::emulator

using smelt::emulator::programOf;

#define SMELT_EXPORT extern "C" __attribute__((visibility("default"))) int

// A version that no other has: kernels for the host are not for a cache's users with a GPU.
SMELT_EXPORT nvrtcVersion(int *major, int *minor) { return *major = 13, *minor = 9000, 0; }
SMELT_EXPORT nvrtcCreateProgram(void **program, const char *text, const char *, int headers,
                                const char *const *texts, const char *const *names) {
  auto *created = new smelt::emulator::Program{text, {}, {}, {}};
  for (int i = 0; i < headers; ++i)
    created->headers.emplace_back(names[i], texts[i]);
  *program = created;
  return 0;
}
SMELT_EXPORT nvrtcDestroyProgram(void **program) { return delete programOf(*program), 0; }
SMELT_EXPORT nvrtcCompileProgram(void *program, int count, const char *const *options) {
  constexpr int kCompilation = 6; // NVRTC_ERROR_COMPILATION
  try {
    smelt::emulator::compile(*programOf(program), count, options);
    return 0;
  } catch (const std::exception &error) {
    programOf(program)->log = error.what();
    return kCompilation;
  }
}
SMELT_EXPORT nvrtcGetProgramLogSize(void *program, size_t *bytes) {
  return *bytes = programOf(program)->log.size() + 1, 0;
}
SMELT_EXPORT nvrtcGetProgramLog(void *program, char *log) {
  return smelt::emulator::give(programOf(program)->log, log, true);
}
SMELT_EXPORT nvrtcGetCUBINSize(void *program, size_t *bytes) {
  return *bytes = programOf(program)->library.size(), 0;
}
SMELT_EXPORT nvrtcGetCUBIN(void *program, char *cubin) {
  return smelt::emulator::give(programOf(program)->library, cubin, false);
}
SMELT_EXPORT nvrtcGetPTXSize(void *, size_t *bytes) { return *bytes = 0, 0; }
SMELT_EXPORT nvrtcGetPTX(void *, char *) { return 0; }
