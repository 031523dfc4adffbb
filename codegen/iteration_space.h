// The coordinates of a kernel.
//
// Threads find their place by few flat coordinates (an element, a row and a column, a tile's row);
// tensors have more axes. A flat coordinate over axes [batch, seq] has a part for each axis:
//   %row  with the parts  %row0 (of batch)  and  %row1 (of seq)
// Index maps use the parts, which keeps them polynomials; an offset in which the parts occur just
// as row-major order has them is then written with the flat coordinate, so that most kernels never
// divide.
#pragma once

#include "codegen/lanes.h"

namespace smelt::codegen {

/// An element of an input of the fusion.
struct InputElement {
  mlir::BlockArgument input;
  Index index;
  /// It exists where each position lies within [0, size); elsewhere a 0 is read.
  struct Guard {
    Dim position, size;
  };
  llvm::SmallVector<Guard> guards = {};
};

class IterationSpace {
public:
  /// Adds a flat coordinate over `axes`, called `name` in the text; returns a position of each
  /// axis.
  Index addFlat(mlir::MLIRContext *context, llvm::StringRef name, llvm::ArrayRef<Dim> axes);
  /// Adds a coordinate without parts, 0 <= name < extent.
  Dim add(llvm::StringRef name, Dim extent);

  const Bounds &getBounds() const { return bounds; }

  /// `offset` with parts gathered into flat coordinates where they stand in row-major order: all
  /// of them into the coordinate itself, the outer ones into its quotient.
  Dim collapse(Dim offset) const;

  /// A part's value, computed from its flat coordinate.
  struct Definition {
    std::string symbol;
    Dim value;
  };
  /// How to compute those parts that `isUsed`; with `name`, only those of that flat coordinate.
  llvm::SmallVector<Definition> definitions(llvm::function_ref<bool(llvm::StringRef)> isUsed,
                                            llvm::StringRef name = "") const;
  /// The flat coordinate `name` and its parts.
  llvm::SmallVector<std::string> symbolsOf(llvm::StringRef name) const;

  /// `width` lanes along the flat coordinate `name`. Where its innermost part holds whole groups of
  /// lanes, that part moves with them and the others stand still; else all parts are irregular.
  Lanes lanesAlong(llvm::StringRef name, int64_t width) const;

  /// Follows views back from `value` at `index` to what they read. An op that is no view is an
  /// error at it.
  mlir::FailureOr<InputElement> throughViews(mlir::Value value, Index index) const;
  /// The same through zeros around what is read.
  mlir::FailureOr<InputElement> throughPaddedViews(mlir::Value value, Index index) const;

private:
  struct Part {
    std::string symbol;
    Dim extent;
  };
  struct Flat {
    std::string symbol;
    llvm::SmallVector<Part> parts; // those of extent other than 1, outermost first
  };
  Dim collapse(Dim offset, const Flat &flat) const;
  /// The factor of the last part where the parts stand in `offset` in row-major order.
  static std::optional<Dim> rowMajorFactor(Dim offset, llvm::ArrayRef<Part> parts);

  llvm::SmallVector<Flat> flats;
  Bounds bounds;
};

} // namespace smelt::codegen
