// What differs between two plans: for a report, and for `smelt diff`.
#pragma once

#include "tools/smelt/html_report_data.h"

namespace smelt::tools {

/// What differs whatever the shapes are: the compiler, its flags, inputs, outputs, limits,
/// architectures, weights.
std::vector<ReportChange> planChanges(const runtime::Plan &before, const runtime::Plan &after);

/// What differs for one architecture at one set of shapes: memory, launches, and fusions with their
/// kernels.
std::vector<ReportChange> programChanges(const ReportData &before, const ReportData &after);

} // namespace smelt::tools
