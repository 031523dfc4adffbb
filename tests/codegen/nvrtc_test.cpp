// NVRTC at run time: search, headers by name, located errors, spills refused, the cache in between.
#include "codegen/nvrtc.h"

#include "codegen/embedded_headers.h"
#include "llvm/Support/FileSystem.h"
#include <gtest/gtest.h>

#include <pthread.h>
#include <thread>

namespace smelt::codegen {
namespace {

struct NvrtcTest : testing::Test {
  std::unique_ptr<Nvrtc> nvrtc;

  void SetUp() override {
    auto opened = Nvrtc::open("");
    if (!opened)
      GTEST_SKIP() << "no NVRTC here: " << llvm::toString(opened.takeError());
    nvrtc = std::move(*opened);
  }

  static KernelText kernel(std::string body) {
    return {"k",
            "#include \"device/types.cuh\"\nextern \"C\" __global__ void k(float *x) {\n" + body +
                "\n}\n",
            "a test kernel"};
  }
};

/// A folder for a cache, removed with the object.
struct CacheFolder {
  CacheFolder() {
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("smelt-nvrtc-test", directory));
  }
  ~CacheFolder() { llvm::sys::fs::remove_directories(directory); }
  CacheFolder(const CacheFolder &) = delete;

  llvm::SmallString<128> directory;
};

TEST(NvrtcSearch, NamesEveryPlaceThatWasTried) {
  auto opened = Nvrtc::open("/nonexistent/libnvrtc.so.13");
  ASSERT_FALSE(opened);
  std::string message = llvm::toString(opened.takeError());
  EXPECT_NE(message.find("/nonexistent/libnvrtc.so.13"), std::string::npos) << message;
  EXPECT_NE(message.find("SMELT_NVRTC_PATH"), std::string::npos) << message;
}

TEST(EmbeddedHeaders, HoldTheDeviceFolders) {
  bool types = false;
  for (const EmbeddedHeader &header : embeddedHeaders())
    types |= header.name == "device/types.cuh" &&
             std::string_view(header.text).find("#pragma once") != std::string_view::npos;
  EXPECT_TRUE(types);
  EXPECT_EQ(embeddedHeadersHash().size(), 64u);
}

// device/ptx.cuh tells why.
TEST(EmbeddedHeaders, WaitForEarlierKernelsBeforeLaterOnesMayStart) {
  for (const EmbeddedHeader &header : embeddedHeaders()) {
    std::string_view text = header.text;
    size_t launch = text.find("ptx::gridDependencyLaunch()");
    if (launch != std::string_view::npos)
      EXPECT_LT(text.find("ptx::gridDependencyWait()"), launch) << header.name;
  }
}

TEST_F(NvrtcTest, CompilesForSeveralArchitectures) {
  for (const char *architecture : {"sm_80", "sm_90a"}) {
    auto compiled = nvrtc->compile(kernel("x[threadIdx.x] += 1.0f;"), architecture);
    ASSERT_TRUE(static_cast<bool>(compiled)) << llvm::toString(compiled.takeError());
    EXPECT_EQ(compiled->code.substr(1, 3), "ELF");
    EXPECT_EQ(compiled->spillBytes, 0u);
  }
}

TEST_F(NvrtcTest, ChecksWithoutAssembling) {
  for (const char *architecture : {"sm_80", "sm_90a"}) {
    EXPECT_FALSE(nvrtc->check(kernel("x[threadIdx.x] += 1.0f;"), architecture));
    std::string message = llvm::toString(nvrtc->check(kernel("undeclared += 1;"), architecture));
    EXPECT_NE(message.find("k.cu(3)"), std::string::npos) << message;
  }
  KernelText clusters = kernel("\n#if __CUDA_ARCH__ < 900\n#error no clusters\n#endif");
  EXPECT_FALSE(nvrtc->check(clusters, "sm_90a"));
  EXPECT_TRUE(static_cast<bool>(nvrtc->check(clusters, "sm_80")));
}

TEST_F(NvrtcTest, MakesPtxForAVirtualArchitectureAlsoFromTheCache) {
  KernelText adding = kernel("x[threadIdx.x] += 1.0f;");
  CacheFolder folder;
  KernelCache cache(folder.directory.str().str());
  auto compiled = compileKernels(*nvrtc, cache, adding, "compute_80", 1);
  ASSERT_TRUE(static_cast<bool>(compiled)) << llvm::toString(compiled.takeError());
  const std::string &ptx = compiled->front().code;
  EXPECT_NE(ptx.find(".target sm_80"), std::string::npos) << ptx;
  EXPECT_EQ(ptx.find('\0'), ptx.size() - 1);
  auto cached = compileKernels(*nvrtc, cache, adding, "compute_80", 1);
  ASSERT_TRUE(static_cast<bool>(cached)) << llvm::toString(cached.takeError());
  EXPECT_EQ(*cached, *compiled);
  auto cubin = compileKernels(*nvrtc, cache, adding, "sm_80", 1);
  ASSERT_TRUE(static_cast<bool>(cubin)) << llvm::toString(cubin.takeError());
  EXPECT_EQ(cubin->front().code.substr(1, 3), "ELF");
}

TEST_F(NvrtcTest, ErrorsNameTheLineAndTheKernel) {
  auto compiled = nvrtc->compile(kernel("x[0] = undefined_name;"), "sm_90a");
  ASSERT_FALSE(compiled);
  std::string message = llvm::toString(compiled.takeError());
  EXPECT_NE(message.find("k.cu(3)"), std::string::npos) << message;
  EXPECT_NE(message.find("a test kernel"), std::string::npos) << message;
}

TEST_F(NvrtcTest, TellsOfSpillsAlsoFromTheCache) {
  std::string text = "extern \"C\" __global__ void __launch_bounds__(1024) k(float *x) {\n"
                     "  float v[200];\n#pragma unroll\n  for (int i = 0; i < 200; ++i) v[i] = x[i "
                     "* 1024 + threadIdx.x];\n"
                     "  __syncthreads();\n#pragma unroll\n"
                     "  for (int i = 0; i < 200; ++i) x[(i * 7 % 200) * 1024 + threadIdx.x] = v[i] "
                     "* v[(i * 3 + 1) % 200];\n}\n";
  KernelText spilling{"k", text, "a wide kernel"};
  CacheFolder folder;
  KernelCache cache(folder.directory.str().str());
  auto compiled = compileKernels(*nvrtc, cache, spilling, "sm_90a", 1);
  ASSERT_TRUE(static_cast<bool>(compiled)) << llvm::toString(compiled.takeError());
  EXPECT_GT(compiled->front().spillBytes, 0u);
  auto cached = compileKernels(*nvrtc, cache, spilling, "sm_90a", 1);
  ASSERT_TRUE(static_cast<bool>(cached)) << llvm::toString(cached.takeError());
  EXPECT_EQ(*cached, *compiled);
}

TEST_F(NvrtcTest, ABatchSharesEqualTextsAndTheCache) {
  CacheFolder folder;
  KernelCache cache(folder.directory.str().str());
  std::vector<KernelText> kernels{kernel("x[0] = 1.0f;"), kernel("x[0] = 2.0f;"),
                                  kernel("x[0] = 1.0f;")};
  size_t total = 0;
  auto first = compileKernels(*nvrtc, cache, kernels, "sm_90a", 2,
                              [&](size_t, size_t count) { return total = count, true; });
  ASSERT_TRUE(static_cast<bool>(first)) << llvm::toString(first.takeError());
  EXPECT_EQ(total, 2u);
  EXPECT_EQ((*first)[0].code, (*first)[2].code);
  EXPECT_NE((*first)[0].code, (*first)[1].code);
  auto second = compileKernels(*nvrtc, cache, kernels, "sm_90a", 2);
  ASSERT_TRUE(static_cast<bool>(second));
  EXPECT_EQ((*first)[1].code, (*second)[1].code);
  kernels[1].text = "syntax error";
  auto failed = compileKernels(*nvrtc, cache, kernels, "sm_90a", 2);
  ASSERT_FALSE(failed);
  EXPECT_NE(llvm::toString(failed.takeError()).find("a test kernel"), std::string::npos);
}

TEST_F(NvrtcTest, NamesOfSizesAreNotPartOfTheCachesKey) {
  CacheFolder folder;
  KernelCache cache(folder.directory.str().str());
  auto named = [](const std::string &first, const std::string &second) {
    return KernelText{"k",
                      "// [" + first + "]\nextern \"C\" __global__ void k(int *x, int size_" +
                          first + ", int size_" + second + ") {\n  x[0] = size_" + second +
                          ";\n}\n",
                      "a test kernel"};
  };
  size_t total = 0;
  auto compiled =
      compileKernels(*nvrtc, cache, {named("seq", "batch"), named("s0", "s1")}, "sm_90a", 1,
                     [&](size_t, size_t count) { return total = count, true; });
  ASSERT_TRUE(static_cast<bool>(compiled)) << llvm::toString(compiled.takeError());
  EXPECT_EQ(total, 1u);
  EXPECT_EQ((*compiled)[0].code, (*compiled)[1].code);
  // What is shared is what each would have become by itself.
  auto alone = nvrtc->compile(named("s0", "s1"), "sm_90a");
  ASSERT_TRUE(static_cast<bool>(alone)) << llvm::toString(alone.takeError());
  EXPECT_EQ((*compiled)[1].code, alone->code);
}

/// As long as it lives, no thread can start: none gets a stack as large as it should have.
class NoThreads {
public:
  NoThreads() {
    pthread_getattr_default_np(&before);
    pthread_attr_t huge = before;
    pthread_attr_setstacksize(&huge, size_t(1) << 60);
    pthread_setattr_default_np(&huge);
  }
  ~NoThreads() { pthread_setattr_default_np(&before); }

private:
  pthread_attr_t before;
};

TEST_F(NvrtcTest, ABatchNeedsNoThreadOfItsOwn) {
  CacheFolder folder;
  KernelCache cache(folder.directory.str().str());
  std::vector<KernelText> kernels{kernel("x[0] = 1.0f;"), kernel("x[0] = 2.0f;")};
  NoThreads none;
  ASSERT_THROW(std::thread([] {}), std::system_error);
  auto compiled = compileKernels(*nvrtc, cache, kernels, "sm_90a", 2);
  ASSERT_TRUE(static_cast<bool>(compiled)) << llvm::toString(compiled.takeError());
  EXPECT_NE((*compiled)[0].code, (*compiled)[1].code);
}

} // namespace
} // namespace smelt::codegen
