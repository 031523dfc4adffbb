// What the importer assumes about symbolic sizes.
//
// ONNX lets two differently named sizes meet: in a sum, a contraction, a reshape. Where they must
// be equal, and one is a plain symbol, the symbol is replaced throughout the module by the other
// side, the inputs' types included: then binding an input already checks it. What cannot be said so
// becomes a guard on the module, checked for each shape.
#pragma once

#include "frontend/import.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

namespace smelt::frontend {

/// Nodes, by name, that branch on sizes and are compiled for one outcome.
using Assumptions = llvm::StringSet<>;

class ShapeFacts {
public:
  /// `assumed`: of former attempts to import the same model; must outlive this object.
  explicit ShapeFacts(mlir::func::FuncOp function, const Assumptions *assumed = nullptr)
      : context(function.getContext()), function(function), assumed(assumed) {}

  /// Declares an input's symbol. Of two equal symbols, the one that was declared first stays.
  void declare(llvm::StringRef symbol) { symbols.push_back(symbol.str()); }

  /// `left` and `right` are sizes that must be equal; `why` completes "needs <left> = <right>: ".
  /// Reports and fails where they cannot be. Replaces symbols in the whole function: read types
  /// again afterwards.
  mlir::LogicalResult requireEqual(mlir::Location location, Dim left, Dim right,
                                   llvm::StringRef why);
  /// The same for left <= right.
  mlir::LogicalResult requireAtMost(mlir::Location location, Dim left, Dim right,
                                    llvm::StringRef why);
  /// Sizes that meet by broadcasting: equal, or one of them the constant 1. Contradictions are left
  /// to inference.
  mlir::LogicalResult requireBroadcast(mlir::Location location, llvm::ArrayRef<Dim> left,
                                       llvm::ArrayRef<Dim> right);

  /// Adds to the report of a contradiction what else is known of it; may be null.
  std::function<void(mlir::InFlightDiagnostic &)> explain;

  mlir::MLIRContext *getContext() const { return context; }

  /// Whether the node at `location`, which branches on sizes, is compiled for one outcome.
  bool isAssumed(mlir::Location location) const;
  /// It must be, for the import to go on: what was imported of its branches cannot be taken back, so that
  /// another attempt has to begin.
  void needAssumption(mlir::Location location);
  /// The nodes of which that was said.
  Assumptions neededAssumptions;

  /// With the replacements that were decided so far.
  Dim canonical(Dim dim) const;
  TensorType canonical(TensorType type) const;

  /// The symbols that were replaced so far.
  std::vector<EquatedSymbol> equated() const;

  /// What the module must require of its sizes.
  llvm::ArrayRef<GuardAttr> guards() const { return list; }

private:
  void replace(mlir::Location location, llvm::StringRef symbol, Dim by);
  mlir::LogicalResult contradict(mlir::Location location, Dim left, llvm::StringRef relation,
                                 Dim right, llvm::StringRef why);
  void addGuard(Dim left, Relation relation, Dim right, llvm::StringRef message);
  size_t order(llvm::StringRef symbol) const;

  mlir::MLIRContext *context;
  mlir::func::FuncOp function;
  const Assumptions *assumed;
  std::vector<std::string> symbols;
  llvm::StringMap<Dim> replacements;
  std::vector<std::pair<std::string, std::string>> replaced; // symbol and node, in order
  std::vector<GuardAttr> list;
};

} // namespace smelt::frontend
