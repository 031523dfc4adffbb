// Copies between the caller's memory and where kernels find a model's inputs and outputs.
#pragma once

#include "runtime/bindings.h"
#include "runtime/driver.h"

namespace smelt::runtime {

/// Which inputs and outputs some kernel of the program reads or writes.
UsedPorts usedPorts(const plan::MetadataT &metadata, const plan::ProgramT &program);

/// From the caller's memory to where kernels find inputs, unless they lie there already.
Status copyInputs(const DriverApi &api, const Bindings &bindings, uint64_t workspace,
                  CUstream stream);
Status copyOutputs(const DriverApi &api, const Bindings &bindings, uint64_t workspace,
                   CUstream stream);

} // namespace smelt::runtime
