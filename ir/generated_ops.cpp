// What TableGen makes of ops.td: accessors, builders, parsers, printers and verifiers of every op. A file of its own, because
// it takes as long to compile as a folder, and because sanitizers need not watch it.
#include "ir/dialect.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "ir/ops.cpp.inc"
