// Plans that are read and loaded with progress on stderr.
#pragma once

#include "runtime/read_plan.h"
#include "tools/smelt/report.h"

namespace smelt::tools {

/// "reading the plan: 1.2 GiB of 4.0 GiB, about 2 s left", and so on. The line must outlive it.
runtime::LoadProgressHandler shownOn(ProgressLine &line);

/// runtime::readPlan with progress.
Result<runtime::Plan> readPlan(const std::string &path);

} // namespace smelt::tools
