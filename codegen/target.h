// An architecture that kernels are generated for: what its multiprocessors hold, which instructions
// they have, and how fast they are at best. codegen/targets/ has one file for each.
#pragma once

#include "runtime/plan_format.h"

#include "mlir/Support/LLVM.h"

#include <cstdint>
#include <string>

namespace smelt::codegen {

struct Target {
  const char *arch; ///< as NVRTC names it: "sm_90a"; "compute_80" for PTX
  int capability;   ///< ten times the major compute capability, plus the minor one

  struct Limits {
    int sharedBytesPerBlock; ///< what one block may opt in to
    int sharedBytesPerMultiprocessor;
    int registersPerMultiprocessor;
    int threadsPerMultiprocessor;
    int blocksPerMultiprocessor;
  } limits;

  /// Beyond those of 8.0: cp.async, ldmatrix, mma.sync of 16-bit floats, tf32 and int8.
  struct Instructions {
    bool programmaticLaunch = false; ///< griddepcontrol, and programmatic edges of a graph
    bool clusters = false;           ///< of more than one block, with distributed shared memory
    bool tensorMaps = false;         ///< cp.async.bulk.tensor (TMA) and its mbarriers
    bool wgmma = false;              ///< and setmaxnreg
    bool float8 = false;             ///< products of 8-bit floats
  } instructions;

  /// Dense products with wide sums on one multiprocessor, two operations a product; 0: not stated.
  struct Rates {
    double float64, float32, tf32, half, int8, float8;
  } flopsPerClock;

  /// Shared memory that the system takes for every block.
  static constexpr int kReservedSharedBytes = 1024;

  /// The product that cost models have in mind.
  struct Part {
    const char *name;
    int multiprocessors;
    int64_t l2Bytes;
    double bytesPerSecond;      ///< of device memory, by its data sheet
    double clocksPerSecond = 0; ///< at which its data sheet states products; 0: not stated here
  } part;

  /// Whether code for an architecture of this name is PTX, which drivers translate.
  static bool isPtx(llvm::StringRef arch);
  /// Of flopsPerClock.
  double rate(plan::Arithmetic arithmetic) const;

  /// By its name; fails for one that is not known.
  static mlir::FailureOr<Target> named(llvm::StringRef arch);
  /// The one whose code suits a GPU of this compute capability best: its own, else the latest of
  /// the same generation before it, else PTX. Fails for one older than all.
  static mlir::FailureOr<Target> forCapability(int capability);
  /// Every name, oldest first, PTX at the end: "sm_80, sm_86, ...".
  static std::string names();
};

/// What is compiled for unless something else is asked for.
inline constexpr char kDefaultArchitecture[] = "sm_90a";

} // namespace smelt::codegen
