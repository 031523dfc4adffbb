// CUDA text becomes C++: instructions as calls, with operands in the order of the instruction.
#include "tests/emulator/rewrite.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace smelt::emulator {
namespace {

TEST(Rewrite, AnInstructionBecomesACall) {
  EXPECT_EQ(
      rewriteForHost(
          R"(if (a) asm volatile("st.shared.b32 [%0], %1;" ::"r"(to + f(1, 2)), "f"(x) : "memory"); else b();)"),
      "if (a) do { ::smelt::emulator::st_shared_b32((to + f(1, 2)), (x)); } while (false); else "
      "b();");
}

TEST(Rewrite, LiteralsAreJoinedAndShapesAreArguments) {
  EXPECT_EQ(
      rewriteForHost(
          R"(asm("mma.sync.m16n8k8.f32 " "{%0, %1}, {%2}, " "{%0, %1};" : "+f"(d[0]), "+f"(d[1]) : "r"(a));)"),
      "do { ::smelt::emulator::mma_sync_f32<16, 8, 8>(::smelt::emulator::group((d[0]), (d[1])), "
      "::smelt::emulator::group((a)), ::smelt::emulator::group((d[0]), (d[1]))); } while (false);");
}

TEST(Rewrite, CoordinatesStandBesideTheirMap) {
  EXPECT_EQ(
      rewriteForHost(
          R"(asm volatile("cp.tensor.shared::cluster [%0], [%1, {%2, %3}];" ::"r"(t), "l"(&m), "r"(x), "r"(y));)"),
      "do { ::smelt::emulator::cp_tensor_shared__cluster((t), (&m), ::smelt::emulator::group((x), "
      "(y))); } while (false);");
}

TEST(Rewrite, PredicatesAreNoVariablesOfTheText) {
  EXPECT_EQ(
      rewriteForHost(
          R"(asm("{.reg .pred p; setp.ne.s32 p, %1, 0; selp.u32 %0, 1, 0, p;}" : "=r"(p) : "r"(x));)"),
      "do { bool predicate_p = false; ::smelt::emulator::setp_ne_s32(predicate_p, (x), 0); "
      "::smelt::emulator::selp_u32((p), 1, 0, predicate_p); } while (false);");
}

TEST(Rewrite, AssemblyWithoutInstructionsIsNothing) {
  EXPECT_EQ(rewriteForHost(R"(asm volatile("" : "+f"(d[i])::"memory");)"), "do { } while (false);");
}

TEST(Rewrite, OtherRegistersAreRefused) {
  EXPECT_THROW(rewriteForHost(R"(asm("{.reg .b32 r; mov.b32 %0, r;}" : "=r"(x));)"),
               std::runtime_error);
}

TEST(Rewrite, SharedMemoryAndCasts) {
  EXPECT_EQ(rewriteForHost("extern __shared__ __align__(1024) char shared[];"),
            "char *shared = ::smelt::emulator::dynamicShared();");
  EXPECT_EQ(rewriteForHost("__shared__ alignas(16) char a[4]; __shared__ double b;"),
            "alignas(16) static char a[4]; static double b;");
  EXPECT_EQ(rewriteForHost("extern \"C\" int f(); asmile(static_cast<int>(x))"),
            "extern \"C\" int f(); asmile(::smelt::emulator::cast<int>(x))");
  EXPECT_EQ(rewriteForHost("#pragma unroll 4\nfor (;;)"), "\nfor (;;)");
}

TEST(Rewrite, KernelsAreFoundByTheirNames) {
  EXPECT_EQ(kernelNames("extern \"C\" __global__ void __launch_bounds__(f(1), 2) one(int a) {}\n"
                        "extern \"C\" __global__ void two() {}"),
            (std::vector<std::string>{"one", "two"}));
}

} // namespace
} // namespace smelt::emulator
