#include "codegen/nvrtc.h"

#include "codegen/blocked_signals.h"
#include "codegen/kernel_text.h"
#include "codegen/target.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <csignal>
#include <cstring>
#include <dlfcn.h>

#include <atomic>
#include <mutex>
#include <thread>

namespace smelt::codegen {

namespace {

constexpr char kLibraryName[] = "libnvrtc.so.13";
// Part of every cache key: what else decides the bytes of a kernel.
// Minimal: without what kernels of ours never name, as textures and launches, which costs 10 to 15 ms a kernel to declare.
constexpr const char *kFlags[] = {"--std=c++17", "-default-device", "--minimal",
                                  "--ptxas-options=-v"};

llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

/// Folders of pip's wheels below the usual roots of a virtual environment around the binary and of
/// the system's Python.
std::vector<std::string> wheelFolders(llvm::StringRef binaryFolder) {
  std::vector<std::string> folders;
  for (std::string root :
       {(binaryFolder + "/../../venv/lib").str(), (binaryFolder + "/../../../venv/lib").str(),
        std::string("/usr/local/lib"), std::string("/usr/lib")}) {
    std::error_code error;
    for (llvm::sys::fs::directory_iterator it(root, error), end; !error && it != end;
         it.increment(error))
      if (llvm::sys::path::filename(it->path()).starts_with("python3"))
        for (const char *packages : {"site-packages", "dist-packages"})
          folders.push_back(it->path() + "/" + packages + "/nvidia/cu13/lib");
  }
  return folders;
}

std::vector<std::string> searchPlaces(llvm::StringRef path) {
  if (!path.empty())
    return {llvm::sys::fs::is_directory(path) ? (path + "/" + kLibraryName).str() : path.str()};
  static const char anchor = 0;
  std::string binary = llvm::sys::fs::getMainExecutable(nullptr, const_cast<char *>(&anchor));
  std::string folder = llvm::sys::path::parent_path(binary).str();
  std::vector<std::string> places{folder + "/" + kLibraryName};
  for (const std::string &wheels : wheelFolders(folder))
    places.push_back(wheels + "/" + kLibraryName);
  places.push_back(kLibraryName);
  places.push_back(std::string("/usr/local/cuda/lib64/") + kLibraryName);
  return places;
}

/// Opens the library at `place`, and the library of built-ins beside it: NVRTC asks the loader for
/// that one by name only, and the loader does not look into the folder of a wheel.
void *openLibrary(const std::string &place) {
  void *handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
  llvm::StringRef folder = llvm::sys::path::parent_path(place);
  if (!handle || folder.empty())
    return handle;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error))
    if (llvm::sys::path::filename(it->path()).starts_with("libnvrtc-builtins.so"))
      dlopen(it->path().c_str(), RTLD_NOW | RTLD_LOCAL);
  return handle;
}

/// The number before `unit` in ptxas' resource report; 0 where it is not there.
uint64_t reported(llvm::StringRef log, llvm::StringRef unit) {
  size_t end = log.find(unit);
  if (end == llvm::StringRef::npos)
    return 0;
  llvm::StringRef before = log.take_front(end).rtrim();
  uint64_t value = 0;
  before.take_back(before.size() - (before.find_last_not_of("0123456789") + 1))
      .getAsInteger(10, value);
  return value;
}

} // namespace

/// Stays loaded once it is found: every unloading would leak the 72 kB pool of its C++ library.
struct Nvrtc::Library {
  // NVRTC's C interface, as far as it is used. A program is opaque; result 0 is success.
  using Program = void *;
  void *handle = nullptr;
  int (*version)(int *, int *) = nullptr;
  int (*createProgram)(Program *, const char *, const char *, int, const char *const *,
                       const char *const *) = nullptr;
  int (*compileProgram)(Program, int, const char *const *) = nullptr;
  int (*destroyProgram)(Program *) = nullptr;
  int (*getLogSize)(Program, size_t *) = nullptr;
  int (*getLog)(Program, char *) = nullptr;
  int (*getCubinSize)(Program, size_t *) = nullptr;
  int (*getCubin)(Program, char *) = nullptr;
  int (*getPtxSize)(Program, size_t *) = nullptr;
  int (*getPtx)(Program, char *) = nullptr;

  template <class F> bool resolve(const char *name, F *&function) {
    function = reinterpret_cast<F *>(dlsym(handle, name));
    return function != nullptr;
  }

  bool resolveAll() {
    return resolve("nvrtcVersion", version) && resolve("nvrtcCreateProgram", createProgram) &&
           resolve("nvrtcCompileProgram", compileProgram) &&
           resolve("nvrtcDestroyProgram", destroyProgram) &&
           resolve("nvrtcGetProgramLogSize", getLogSize) && resolve("nvrtcGetProgramLog", getLog) &&
           resolve("nvrtcGetCUBINSize", getCubinSize) && resolve("nvrtcGetCUBIN", getCubin) &&
           resolve("nvrtcGetPTXSize", getPtxSize) && resolve("nvrtcGetPTX", getPtx);
  }

  /// What became of the text: machine code, or for a virtual architecture PTX with its final NUL.
  std::string code(Program program, llvm::StringRef architecture) const {
    return Target::isPtx(architecture) ? text(program, getPtxSize, getPtx)
                                       : text(program, getCubinSize, getCubin);
  }

  std::string text(Program program, int (*size)(Program, size_t *),
                   int (*get)(Program, char *)) const {
    size_t bytes = 0;
    if (size(program, &bytes) != 0)
      return {};
    std::string result(bytes, '\0');
    return get(program, result.data()) == 0 ? result : std::string();
  }
};

Nvrtc::Nvrtc(std::unique_ptr<Library> library) : library(std::move(library)) {}
Nvrtc::~Nvrtc() = default;

llvm::Expected<std::unique_ptr<Nvrtc>> Nvrtc::open(llvm::StringRef path) {
  std::string tried;
  for (const std::string &place : searchPlaces(path)) {
    auto library = std::make_unique<Library>();
    library->handle = openLibrary(place);
    if (library->handle && library->resolveAll())
      return std::unique_ptr<Nvrtc>(new Nvrtc(std::move(library)));
    tried += "\n  " + place;
    if (library->handle) {
      tried += " (is no NVRTC 13)";
      dlclose(library->handle);
    }
  }
  return makeError("NVRTC 13 was not found. Install the wheel nvidia-cuda-nvrtc or the CUDA 13 "
                   "toolkit, or name the "
                   "library with SMELT_NVRTC_PATH. Tried:" +
                   tried);
}

std::string Nvrtc::version() const {
  int major = 0, minor = 0;
  library->version(&major, &minor);
  return std::to_string(major) + "." + std::to_string(minor);
}

llvm::Expected<CompiledKernel> Nvrtc::compile(const KernelText &kernel,
                                              llvm::StringRef architecture) const {
  return compile(kernel, architecture, embeddedHeaders(), {});
}

llvm::Expected<CompiledKernel> Nvrtc::compileWithHeaders(const KernelText &kernel,
                                                         llvm::StringRef architecture,
                                                         llvm::StringRef headers) const {
  std::string folder = ("--include-path=" + headers).str();
  return compile(kernel, architecture, {}, folder.c_str());
}

std::string Nvrtc::flags(llvm::StringRef architecture) {
  std::string text = ("--gpu-architecture=" + architecture).str();
  for (const char *flag : kFlags)
    text += std::string(" ") + flag;
  return text;
}

llvm::Error Nvrtc::check(const KernelText &kernel, llvm::StringRef architecture) const {
  std::string virtualArchitecture = ("compute_" + architecture.drop_front(strlen("sm_"))).str();
  return compile(kernel, virtualArchitecture, embeddedHeaders(), {"--Ofast-compile=max"})
      .takeError();
}

llvm::Expected<CompiledKernel> Nvrtc::compile(const KernelText &kernel,
                                              llvm::StringRef architecture,
                                              std::span<const EmbeddedHeader> headers,
                                              llvm::ArrayRef<const char *> moreFlags) const {
  std::vector<const char *> texts, names;
  for (const EmbeddedHeader &header : headers) {
    texts.push_back(header.text);
    names.push_back(header.name.data());
  }
  Library::Program program = nullptr;
  std::string file = kernel.entry + ".cu";
  if (library->createProgram(&program, kernel.text.c_str(), file.c_str(), texts.size(),
                             texts.data(), names.data()) != 0)
    return makeError("NVRTC could not take the text of " + kernel.description);
  std::string target = ("--gpu-architecture=" + architecture).str();
  std::vector<const char *> flags{target.c_str()};
  flags.insert(flags.end(), std::begin(kFlags), std::end(kFlags));
  flags.insert(flags.end(), moreFlags.begin(), moreFlags.end());
  bool compiled = library->compileProgram(program, flags.size(), flags.data()) == 0;
  std::string log = library->text(program, library->getLogSize, library->getLog);
  CompiledKernel result;
  if (compiled)
    result.code = library->code(program, architecture);
  library->destroyProgram(&program);
  if (!compiled || result.code.empty())
    return makeError("NVRTC refuses " + kernel.description + " for " + architecture + ":\n" +
                     log.c_str());
  result.spillBytes = reported(log, " bytes spill stores") + reported(log, " bytes spill loads");
  for (const char *warning : {"C7508", "C7510"})
    if (llvm::StringRef(log).contains(warning))
      return makeError("the assembler reports " + llvm::Twine(warning) + " for " +
                       kernel.description + ":\n" + log.c_str());
  return result;
}

namespace {

/// One compilation of a batch; several kernels of equal text share it.
struct Job {
  const KernelText *kernel;
  std::string key;
  CompiledKernel result;
  std::string error;
};

void runJob(Job &job, const Nvrtc &nvrtc, const KernelCache &cache, llvm::StringRef architecture) {
  if (auto known = cache.lookup(job.key)) {
    job.result = std::move(*known);
    return;
  }
  auto compiled = nvrtc.compile(*job.kernel, architecture);
  if (!compiled) {
    job.error = llvm::toString(compiled.takeError());
    return;
  }
  job.result = std::move(*compiled);
  cache.store(job.key, job.result);
}

/// Threads at `work` beside the caller's, `count` with it; fewer where no more can start.
std::vector<std::thread> startWorkers(size_t count, llvm::function_ref<void()> work) {
  std::vector<std::thread> workers;
  workers.reserve(count);
  BlockedSignals blocked;
  try {
    for (size_t i = 1; i < count; ++i)
      workers.emplace_back(work);
  } catch (const std::exception &) {
    return workers; // the caller does alone what is left
  }
  return workers;
}

} // namespace

llvm::Expected<std::vector<CompiledKernel>>
compileKernels(const Nvrtc &nvrtc, const KernelCache &cache, llvm::ArrayRef<KernelText> kernels,
               llvm::StringRef architecture, unsigned threads,
               llvm::function_ref<bool(size_t, size_t)> progress,
               llvm::function_ref<void(const KernelText &)> begin) {
  std::string flags = nvrtc.version();
  for (const char *flag : kFlags)
    flags += std::string(" ") + flag;
  llvm::StringMap<size_t> jobOfKey;
  std::vector<Job> jobs;
  std::vector<size_t> jobOfKernel;
  for (const KernelText &kernel : kernels) {
    std::string key = KernelCache::key(
        {kernel.entry, canonicalText(kernel.text), embeddedHeadersHash(), architecture, flags});
    auto [entry, isNew] = jobOfKey.try_emplace(key, jobs.size());
    if (isNew)
      jobs.push_back({&kernel, key, {}, {}});
    jobOfKernel.push_back(entry->second);
  }
  std::atomic<size_t> next = 0;
  std::atomic<bool> isStopped = false;
  std::mutex mutex;
  size_t done = 0;
  auto work = [&] {
    for (size_t index; !isStopped && (index = next++) < jobs.size();) {
      if (begin)
        begin(*jobs[index].kernel);
      runJob(jobs[index], nvrtc, cache, architecture);
      std::lock_guard lock(mutex);
      ++done;
      if (progress && !isStopped && !progress(done, jobs.size()))
        isStopped = true;
    }
  };
  std::vector<std::thread> workers = startWorkers(std::min<size_t>(threads, jobs.size()), work);
  work();
  for (std::thread &worker : workers)
    worker.join();
  if (isStopped)
    return makeError("stopped before every kernel was compiled");
  std::string errors;
  for (const Job &job : jobs)
    errors += job.error.empty() ? "" : (errors.empty() ? "" : "\n") + job.error;
  if (!errors.empty())
    return makeError(errors);
  std::vector<CompiledKernel> results;
  for (size_t job : jobOfKernel)
    results.push_back(jobs[job].result);
  return results;
}

} // namespace smelt::codegen
