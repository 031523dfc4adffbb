// The values of a fusion's region as CUDA statements.
//
// A kernel asks for a value at a position; what it depends on is emitted on the way: elementwise
// ops become scalar expressions, views, concatenations and gathers become index maps, inputs become
// loads. A thread computes W neighbouring positions (lanes, `W` is a constant of the template), and
// statements go where they belong:
//
//   uniform   values that are the same for all lanes: broadcast rows, gathered indices, statistics
//   loads     float v3[W];  load<W>(in0 + offset, v3);  and what is the same for these lanes only:
//             bool v5 = col < 384;
//   lanes     one loop over the lanes:  v4 = gelu(v3[i]);  // Gelu_17
//   stores    store<W>(out0 + offset, r0);
//
// Floats of 16 and 32 bits are computed in float and rounded only by casts and stores.
#pragma once

#include "codegen/cuda_text.h"
#include "codegen/iteration_space.h"

#include <functional>
#include <map>
#include <vector>

namespace smelt::codegen {

/// How far a value is the same, and so where its statement stands.
enum class Scope {
  uniform, ///< everywhere: before the chunks
  chunk,   ///< for all lanes of a chunk, but not from chunk to chunk: among its loads
  lane,    ///< for one lane: inside the loop over lanes
};

/// A value in the text: a name or a literal, known within its scope.
struct Operand {
  std::string text;
  Scope scope = Scope::uniform;
  bool isZeroElsewhere = false; ///< where the predicate under which it was emitted is false
};

/// Where a result lies that is a part of a tensor: the shape of the whole, and the element of it at
/// which the result's pointer stands.
struct ResultPlace {
  llvm::SmallVector<Dim> shape;
  Dim first;
};

/// One of a chunk's stores of whole vectors, and of what it takes to store them in another way.
struct VectorStore {
  std::string address; ///< "out0 + n"
  std::string array;   ///< of the lanes' values
  mlir::Type element;  ///< as it is stored
  bool isRounded;      ///< the values are floats, which become integers of 8 bits

  /// "pack<half, W>(r0)": the vector; of integers of 8 bits as PackedBytes.
  std::string packed() const;
};

/// The statements of one pass over a thread's lanes. `loads` also hold what the chunk's lanes share.
struct Chunk {
  std::vector<std::string> loads, lanes, stores;
  std::vector<VectorStore> vectors; ///< that are among `stores`

  /// The whole chunk; the loop over lanes is left out where it is empty.
  std::string text() const;
};

class ExpressionEmitter {
public:
  ExpressionEmitter(FusionOp fusion, const IterationSpace &space, Lanes lanes);
  ExpressionEmitter(const ExpressionEmitter &) = delete;

  /// Emits `value` at `index`. Reports what it cannot emit at the op and fails.
  mlir::FailureOr<Operand> emit(mlir::Value value, llvm::ArrayRef<Dim> index);

  /// `value` at `index` is known by this name (accumulators of a contraction).
  void define(mlir::Value value, llvm::ArrayRef<Dim> index, Operand operand);
  /// `index` is the position of `value` for which the kernel computes: a view's result that is
  /// asked for at its own anchor reads its operand at the operand's anchor, without arithmetic.
  void anchor(mlir::Value value, llvm::ArrayRef<Dim> index);
  /// Asked for ops that are not pointwise; the default reports them.
  using Resolver = std::function<mlir::FailureOr<Operand>(mlir::Operation *, llvm::ArrayRef<Dim>)>;
  void setResolver(Resolver hook) { resolver = std::move(hook); }
  /// Chunks stand in loops over the flat coordinate `name`: what depends on it is no uniform value.
  void loopOver(llvm::StringRef name);

  /// The fusion's only result is a part of a tensor.
  void setPlace(ResultPlace resultPlace) { place = std::move(resultPlace); }
  /// From now on, a part of an input's offset that is the same for all elements goes into the
  /// input's pointer: slices that differ in where they start share one text.
  void movePointers() { movesPointers = true; }
  /// The element at which the pointer of `input` stands, where that is not the first.
  Dim pointerStart(unsigned input) const { return pointerStarts.lookup(input); }
  /// Emits the store of `operand` to the result `output` of the fusion at `index`.
  void store(unsigned output, llvm::ArrayRef<Dim> index, const Operand &operand);
  /// Emits `value` at `index`, and its store `at` an index of the result `output`. Bytes are rounded where they are packed into a
  /// vector.
  llvm::LogicalResult emitAndStore(unsigned output, mlir::Value value, llvm::ArrayRef<Dim> index,
                                   llvm::ArrayRef<Dim> at);
  /// Emits the store of the moments of `operand`, the value at `index` of a tensor of `element`s,
  /// to the result `output` (device/moments.cuh). Lanes and neighbouring threads lie along the last
  /// axis.
  void storeMoments(unsigned output, llvm::ArrayRef<Dim> index, const Operand &operand,
                    mlir::Type element);

  /// A new variable of `type` with the value of `expression`.
  Operand variable(llvm::StringRef type, llvm::StringRef expression, Scope scope,
                   llvm::StringRef comment = "");
  /// A fresh name: prefix and number.
  std::string name(llvm::StringRef prefix) { return prefix.str() + std::to_string(counter++); }

  /// Starts another pass over the lanes. A value that an earlier chunk computed is computed again,
  /// or, with `keep`, a per-lane value is kept in an array of registers `[kChunks][W]`, indexed by
  /// `chunk`.
  void beginChunk(bool keep);
  /// Kept values of a tensor of 16-bit floats are rounded to its type, two in a register.
  void packKept() { packsKept = true; }
  Chunk &chunk() { return chunks.back(); }
  llvm::ArrayRef<Chunk> allChunks() const { return chunks; }

  /// Statements before the chunks; `uniform()` may be taken piecewise between chunks.
  std::string takeUniform();
  /// Declarations of the kept registers.
  std::string keptDeclarations() const;
  /// Computes those parts of flat coordinates that `text` uses; with `flat`, of that one only.
  std::string coordinateDefinitions(llvm::StringRef text, llvm::StringRef flat = "");

  /// Splits vector loads whose addresses depend on coordinates alone: `fetched()` loads the vector
  /// as it is stored, the chunk unpacks it.
  enum class FetchAhead {
    none,
    inputs,    ///< all of them, into members of a struct called `inputs`, but those that are the
               ///< same in every row into members of one called `columns`
    constants, ///< those of constants, into register arrays indexed by `chunk`
  };
  void fetchAhead(FetchAhead which, int64_t maxBytes) {
    fetching = which;
    fetchBytesLeft = maxBytes;
  }
  struct Fetched {
    std::vector<std::string> declarations; // "Vector<half, W> v3;\n"
    std::vector<std::string> statements;   // "inputs.v3 = loadVector<W>(in1 + n);\n"
    std::vector<std::string> prefetches;   // "prefetchToL2(in1 + n);\n"
    std::vector<Dim> offsets;              // in their tensors
  };
  const Fetched &fetched() const { return fetchedVectors; }
  const Fetched &fetchedColumns() const { return fetchedOfColumns; }

  DimPrinter &printer() { return dims; }
  std::string printUniform(Dim dim) { return dims.print(space.collapse(dim)); }
  std::string printUniformWide(Dim dim) { return dims.printWide(space.collapse(dim)); }
  /// No value is computed lane by lane through memory: all accesses are vectors or broadcasts.
  bool isRegular() const { return irregularAccesses == 0; }
  const Lanes &getLanes() const { return lanes; }
  const Bounds &getBounds() const { return bounds; }

private:
  /// Loads happen only where it holds; `text` empty: always.
  struct Predicate {
    std::string text;
    Scope scope = Scope::uniform;
  };
  using Key = std::tuple<void *, std::vector<const void *>, std::string>;
  struct Known {
    Operand operand;
    size_t chunk;
    mlir::Type element;
    std::string packed; // the array of vectors that keeps it, if any
  };

  Dim offsetOf(unsigned output, llvm::ArrayRef<Dim> index);
  bool isVector(Dim offset) const;
  void storeVector(unsigned output, Dim offset, const Operand &operand, bool isRounded);
  Key key(mlir::Value value, llvm::ArrayRef<Dim> index) const;
  std::optional<Operand> lookup(const Key &key);
  /// Has a value of an earlier chunk kept; its name in this one.
  Operand keep(Known &value);
  Operand keepPacked(Known &value);
  mlir::FailureOr<Operand> emitNew(mlir::Value value, llvm::ArrayRef<Dim> index);
  Scope scopeOf(Dim dim) const;
  /// The same for a value that all lanes share.
  Scope sharedScopeOf(Dim dim) const;
  /// Adds a statement where its scope has its place.
  void addStatement(Scope scope, std::string statement);
  Operand load(mlir::BlockArgument input, llvm::ArrayRef<Dim> index);
  /// `offset` from where the input's pointer stands.
  Dim fromPointer(mlir::BlockArgument input, Dim offset);
  Operand loadVector(mlir::BlockArgument input, Dim offset);
  bool mayFetchAhead(mlir::BlockArgument input, Dim offset);
  /// Moves along the lanes alone, not from row to row.
  bool isSameInEveryRow(Dim offset) const;
  /// Has the vector at `address`, which is `offset` in its input, loaded ahead; returns its name.
  std::string fetch(llvm::StringRef array, mlir::Type element, Dim offset, llvm::StringRef policy,
                    const std::string &address);
  Operand loadScalar(mlir::BlockArgument input, Dim offset, Scope scope);
  mlir::FailureOr<Operand> elementwise(mlir::Operation *op, llvm::ArrayRef<Dim> index);
  mlir::FailureOr<Operand> constant(ConstantOp op, llvm::ArrayRef<Dim> index);
  mlir::FailureOr<Operand> dimsValue(DimsOp op, llvm::ArrayRef<Dim> index);
  mlir::FailureOr<Operand> concat(ConcatOp op, llvm::ArrayRef<Dim> index);
  mlir::FailureOr<Operand> gather(GatherOp op, llvm::ArrayRef<Dim> index);
  mlir::FailureOr<Operand> gatherElements(GatherElementsOp op, llvm::ArrayRef<Dim> index);
  mlir::FailureOr<Operand> gatherNd(GatherNdOp op, llvm::ArrayRef<Dim> index);
  /// An element of `indices` as a position of an axis of `size` elements, clamped.
  mlir::FailureOr<Dim> gatheredPosition(mlir::Value indices, llvm::ArrayRef<Dim> index, Dim size);
  Operand dimValue(Dim dim, mlir::Type elementType);
  Operand comparePosition(Dim position, Dim bound);

  FusionOp fusion;
  const IterationSpace &space;
  Lanes lanes;
  llvm::StringSet<> loopSymbols; // that change from chunk to chunk
  Bounds bounds;
  DimPrinter dims;
  Resolver resolver;
  Predicate predicate;
  std::optional<ResultPlace> place;
  llvm::DenseMap<mlir::Value, Index> anchors;
  std::map<Key, Known> known;
  std::vector<std::string> uniform;
  std::vector<std::string> kept;
  std::vector<Chunk> chunks;
  Fetched fetchedVectors, fetchedOfColumns;
  FetchAhead fetching = FetchAhead::none;
  int64_t fetchBytesLeft = 0;
  llvm::DenseMap<unsigned, Dim> pointerStarts; // of inputs
  bool keepValues = false, packsKept = false, movesPointers = false;
  unsigned counter = 0, outputCounter = 0, irregularAccesses = 0;
};

/// The element type of a tensor.
mlir::Type elementOf(mlir::Value value);
/// ONNX node names of an op as they may stand in a line comment.
std::string commentOf(mlir::Operation *op);

/// "in3" and "out0": the pointer parameters of a fusion's kernel.
std::string inputName(unsigned index);
std::string outputName(unsigned index);

} // namespace smelt::codegen
