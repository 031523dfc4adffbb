// smelt compile --tune: the times of the best few tilings of every product, measured on this machine's GPU.
#pragma once

#include "codegen/tuning.h"
#include "tools/smelt/model_flags.h"

namespace smelt::tools {

struct TuneFlags {
  bool measures = false; ///< --tune
  std::string file;      ///< --tuning; "" with --tune: beside the plan
};

/// The times that are known before anything is measured: those of the file, none without one. With `measures` they are of this
/// machine's first GPU, and the file may be missing. Fails with kEnvironment where --tune finds no GPU,
/// kUsage where the times are of an architecture that is not compiled for, or the file cannot be read, and kPlan where they
/// are of other kernels or, with --tune, of another GPU. `file` is a tuning file, or a plan that holds one.
Result<std::optional<codegen::Tuning>> readTuning(const TuneFlags &flags,
                                                  const std::vector<std::string> &architectures);

/// What tune() did.
struct TuneSummary {
  size_t products = 0, points = 0; ///< a point: a product at one number of rows
  size_t known = 0;                ///< points that were measured before
  size_t measured = 0, failed = 0; ///< tilings, now
};

/// Measures what `tuning` lacks of a model after Model::fuse(), and writes `file` whenever something is known, so that what
/// was measured is kept whatever happens then. A tiling that breaks its process or the device, or takes too long, is noted
/// as failed and told of on stderr. Fails with kRunFailed where nothing can be measured at all.
Result<TuneSummary> tune(Model &model, bool tf32, const std::string &file, codegen::Tuning &tuning);

} // namespace smelt::tools
