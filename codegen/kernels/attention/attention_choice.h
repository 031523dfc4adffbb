// Which tilings run an attention, and at which sizes each: an analytic choice, made on the host.
#pragma once

#include "codegen/kernel.h"
#include "codegen/kernels/attention/attention_config.cuh"

#include <optional>

namespace smelt::codegen {

/// softmax(Q K^T) V of so many batches, query heads, queries and keys.
struct AttentionShape {
  Dim batches, heads, queries, keys;
  int headSize, valueSize;
  int headsOfKeys = 1; ///< that read the same keys
  bool isFloat = false, isCausal = false, isBiased = false;
  bool isBiasedByQuery = false;  ///< every score has its own bias
  bool allowsTensorMaps = false; ///< Q, K and V can be described by one each
  /// Biases of single scores can, too, where this is 0.
  std::optional<Dim> biasMisfit = {};
  bool isCapped = false; ///< scores pass a softcap
};

/// How keys are cut into parts (attention_decode.cuh), and when.
struct AttentionDecodeChoice {
  Dim blocks; ///< of a batch, for one part
  Dim parts;
  int cluster; ///< blocks of a cluster; 0: a second kernel merges the parts
  SizeRule rule;
};

/// An attention template with its configuration.
struct AttentionChoice {
  std::string header;   ///< "attention_simt": the template's file
  std::string function; ///< "attentionSimt": its device function
  std::string config;   ///< "AttentionSimtConfig<16, 64, 2>"
  int blockQ, threads, sharedBytes;
  int minBlocks = 1;    ///< of a multiprocessor: registers are left for so many
  int64_t minWaves = 0; ///< runs where blocks of 64 rows fill the multiprocessors so many times
  int blockKV = 0;
  int maxSteps = 0;        ///< runs where at most so many steps of blockKV keys are; 0: any number
  int64_t mostQueries = 0; ///< runs where at most so many queries of many heads are; 0: any number
  std::optional<AttentionTmaTiling> mapped = {}; ///< the kernel takes maps of its operands
  std::optional<AttentionDecodeChoice> decode = {};

  /// Blocks take heads, whose keys are one step.
  bool takesHeads() const { return mapped && mapped->takesHeads; }
  /// One of them is a map of biases.
  bool takesBiasMap() const { return mapped && mapped->biasStages > 0; }
  /// A second kernel merges what the first has left of every row.
  bool leavesParts() const { return decode && decode->cluster == 0; }
};

/// All that suit the shape and fit the target, best first among those that run at the same sizes. None
/// where not even the smallest fits.
std::vector<AttentionChoice> attentionChoices(const AttentionShape &shape, const Target &target);

/// When `choice` runs, if none of `all` before it does; nothing where that is never.
std::optional<SizeRule> ruleOf(const AttentionChoice &choice, llvm::ArrayRef<AttentionChoice> all,
                               const AttentionShape &shape, const Target &target);

/// Every one of `all` and when it runs, for people, a line each; `emitted` are the configurations that have a
/// kernel.
std::string attentionReasons(llvm::ArrayRef<AttentionChoice> all, const AttentionShape &shape,
                             const Target &target, llvm::ArrayRef<std::string> emitted);

} // namespace smelt::codegen
