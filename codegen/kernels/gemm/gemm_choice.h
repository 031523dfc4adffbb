// Which tiling runs a matrix product: an analytic choice, made on the host, without a GPU.
#pragma once

#include "codegen/kernel.h"
#include "codegen/kernels/gemm/gemm_config.cuh"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace smelt::codegen {

/// A product C[m, n] += A[m, k] B[k, n], `batches` times.
struct GemmShape {
  int64_t m, n, k, batches;
  int sharedBytesPerRow = 0;     ///< of a tile: what its epilogue keeps, beside the tiling's own
  bool allowsTensorMaps = false; ///< both operands can be described by one
  bool storesMoments = false;    ///< of its rows
  bool isRightAlongK = true;     ///< the right operand is read along K: of bytes, wgmma asks for it
  bool hasWindows = false;       ///< on the left: only tensor maps need no addresses for them
  bool callsFunctions = false;   ///< to finish a sum, which takes many instructions
  bool isInFragments = false;    ///< the results can be finished where wgmma leaves the sums
  bool isLong = false;   ///< to finish a sum takes many statements, whose values take registers
  bool readsRows = true; ///< to finish a sum takes anything of its row: inputs, or moments
};

/// What the operands are multiplied as.
enum class GemmPrecision { halfWidth, int8, float8, tf32, float32 };

/// A GEMM template with its configuration.
struct GemmChoice {
  std::string header;   ///< "gemm_wgmma": the template's file
  std::string function; ///< "gemmWgmma": its device function
  std::string config;   ///< "GemmWgmmaConfig</*blockM*/ 64, /*blockN*/ 64, ...>", in CUDA text
  std::string name;     ///< for people: "wgmma blockM 64, blockN 64, stages 6, clusterK 1"
  int blockM, blockN, blockK, clusterK, threads, sharedBytes;
  int tilesOfMoments = 1;        ///< whose rows' moments a block keeps
  double microseconds = 0;       ///< by the model, corrected by what was measured
  bool isMeasured = false;       ///< at some number of rows
  bool usesTensorMaps = false;   ///< the kernel takes maps of its operands instead of addresses
  bool takesTilesInTurn = false; ///< a block has several
  bool keepsColumns = false;     ///< all tiles of a block have the same columns
  bool isForOddRows = false;     ///< which other tiles divide badly
  bool splitsFloats = false;     ///< multiplies floats on tensor cores, as sums of two tf32
  bool fillsRegisters = false;   ///< none is left for addresses that are no linear functions
  bool operator==(const GemmChoice &other) const { return config == other.config; }
  /// Shared memory of a block whose epilogue keeps so much for each row of a tile.
  int allSharedBytes(int bytesPerRow) const {
    return sharedBytes + tilesOfMoments * blockM * bytesPerRow;
  }
};

/// The configurations that fit `target`, fastest first by their models (gemm_candidates.h) and by `times` of this very
/// product: a measured tiling takes what it took, at other numbers of rows as many times what the model says as at
/// the nearest one that was measured; one that was not measured errs as the worst of those that were; one that
/// failed is the last. Where all failed, the model alone stands.
std::vector<GemmChoice> rankGemmTilings(const GemmShape &shape, GemmPrecision precision,
                                        const Target &target,
                                        llvm::ArrayRef<TilingTime> times = {});

/// The tiling of a range of row counts, which ends with `lastRow`; none: with any.
struct GemmRange {
  GemmChoice choice;
  std::optional<int64_t> lastRow;
};

/// The tilings of a product of any number of rows (shape.m is not read), of those that fit `target`
/// and are usable: so few that each is worth its time to compile. Empty where none is usable. `times` as above.
std::vector<GemmRange> chooseGemmRanges(const GemmShape &shape, GemmPrecision precision,
                                        const Target &target,
                                        llvm::function_ref<bool(const GemmChoice &)> isUsable,
                                        llvm::ArrayRef<TilingTime> times = {});

/// A number of rows that stands for those from `firstRow` to `lastRow`, none: and any beyond.
int64_t typicalRows(int64_t firstRow, std::optional<int64_t> lastRow);

} // namespace smelt::codegen
