// A libnvrtc.so.13 whose kernels run on the host: it preprocesses and rewrites their text and has a C++ compiler make a
// shared library of it. That is what it hands out as the cubin: an ELF file, too, that says of its kernels what the
// runtime asks a cubin. emulator's libcuda.so.1 loads it.
#include "tests/emulator/rewrite.h"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <spawn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>
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

using Command = std::vector<std::string>;

/// Runs a command; throws its messages where it fails.
void run(const Command &command, const fs::path &folder) {
  std::string log = folder / "log", shown;
  std::vector<char *> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string &argument : command) {
    arguments.push_back(const_cast<char *>(argument.c_str()));
    shown.append(argument).append(" ");
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t process = 0;
  int status = posix_spawnp(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (status == 0)
    waitpid(process, &status, 0);
  if (status != 0)
    throw std::runtime_error(shown.append("\n").append(readFile(log)));
}

/// After the rewritten text: what makes kernels known, and lets them be called.
std::string entriesOf(const std::vector<std::string> &kernels) {
  std::string text = R"(
using namespace smelt; // where some kernels are
#define SMELT_ENTRY(name)                                                                          \
  extern "C" void smelt_run_##name(emulator::Machine &machine, void *const *parameters) {          \
    emulator::call(name, machine, parameters);                                                     \
  }                                                                                                \
  __attribute__((section(".nv.info." #name), used)) constinit auto smelt_info_##name =             \
      emulator::describe(name);
)";
  for (const std::string &name : kernels)
    text.append("SMELT_ENTRY(").append(name).append(")\n");
  return text;
}

/// The value of --gpu-architecture=sm_90a, as __CUDA_ARCH__ has it.
std::string architectureOf(const std::string &option) {
  size_t begin = std::min(option.find_first_of("0123456789"), option.size()),
         end = std::min(option.find_first_not_of("0123456789", begin), option.size());
  return option.substr(begin, end - begin).append("0");
}

/// The options that say something to a preprocessor.
Command preprocessorOptions(std::span<const char *const> options) {
  constexpr std::string_view kArchitecture = "--gpu-architecture=", kInclude = "--include-path=";
  Command flags;
  for (std::string option : options)
    if (option.starts_with(kArchitecture))
      flags.push_back("-D__CUDA_ARCH__=" + architectureOf(option));
    else if (option.starts_with("-I"))
      flags.push_back(option);
    else if (option.starts_with(kInclude))
      flags.push_back("-I" + option.substr(kInclude.size()));
  return flags;
}

void compile(Program &program, std::span<const char *const> options) {
  TemporaryFolder folder;
  for (const auto &[name, text] : program.headers)
    writeFile(folder.path / name, text);
  fs::path source = folder.path / "kernel.cpp", preprocessed = folder.path / "preprocessed.cpp",
           host = folder.path / "host.cpp", library = folder.path / "kernel.so";
  writeFile(source, program.text);
  Command preprocess = {SMELT_EMULATOR_COMPILER, "-std=c++20", "-E", "-P",
                        "-I" + folder.path.string()},
          flags = preprocessorOptions(options);
  preprocess.insert(preprocess.end(), flags.begin(), flags.end());
  preprocess.insert(preprocess.end(), {source, "-o", preprocessed});
  run(preprocess, folder.path);
  writeFile(host, rewriteForHost(readFile(preprocessed)) + entriesOf(kernelNames(program.text)));
  run({SMELT_EMULATOR_COMPILER, SMELT_EMULATOR_FLAGS, "-include-pch", SMELT_EMULATOR_HEADER,
       "-shared", host, "-o", library},
      folder.path);
  program.library = readFile(library);
}

Program *programOf(void *handle) { return static_cast<Program *>(handle); }

int give(const std::string &bytes, char *target) {
  std::copy(bytes.begin(), bytes.end(), target);
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
    smelt::emulator::compile(*programOf(program), {options, size_t(count)});
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
  const std::string &text = programOf(program)->log;
  log[text.size()] = '\0';
  return smelt::emulator::give(text, log);
}
SMELT_EXPORT nvrtcGetCUBINSize(void *program, size_t *bytes) {
  return *bytes = programOf(program)->library.size(), 0;
}
SMELT_EXPORT nvrtcGetCUBIN(void *program, char *cubin) {
  return smelt::emulator::give(programOf(program)->library, cubin);
}
SMELT_EXPORT nvrtcGetPTXSize(void *, size_t *bytes) { return *bytes = 0, 0; }
SMELT_EXPORT nvrtcGetPTX(void *, char *) { return 0; }
