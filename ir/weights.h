// Where the bytes of weights come from. The IR only names weights; a WeightStore beside the module
// yields their bytes.
#pragma once

#include "ir/dialect.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBuffer.h"

namespace smelt {

/// What two weights with the same bytes have in common: a hash where it is known, else their place.
mlir::Attribute contentKey(SourceAttr source);

/// Yields the bytes of `smelt.weight` ops: mapped from the files that their sources name, owned
/// (large tensors that lie inside the model file), or drawn at random for structure-only models.
/// Bytes are row-major in the op's element type and stay valid as long as the store. Not
/// thread-safe.
class WeightStore {
public:
  /// `directory`: the model's folder; sources are file names relative to it.
  explicit WeightStore(std::string directory = ".");

  /// Weights whose file is missing are drawn from N(0, 0.02^2), filters (rank 3 and up) from N(0, 2
  /// / fan-in), integers from {0, 1}; by seed and name alone.
  void drawMissing(uint64_t seed);
  /// Bytes of the weight `name`, kept by the store; they take precedence over its source.
  void own(llvm::StringRef name, std::string bytes);
  /// Opens an already checked external file (the importer verifies containment) under its relative
  /// name.
  void addFile(llvm::StringRef file, std::shared_ptr<llvm::MemoryBuffer> mapped);

  /// The paths of the files that were opened.
  std::vector<std::string> filePaths() const;

  /// The bytes; reports at the op's location and fails where the file is missing, too short or of
  /// another size.
  mlir::FailureOr<llvm::ArrayRef<char>> bytes(WeightOp weight);
  /// Whether somebody asked for them.
  bool wasRead(llvm::StringRef name) const { return read.contains(name); }

private:
  std::string pathOf(llvm::StringRef file) const;
  /// Bytes in a file; null data where the file is missing and weights may be drawn.
  mlir::FailureOr<llvm::ArrayRef<char>> mappedBytes(WeightOp weight, int64_t size);
  mlir::FailureOr<llvm::MemoryBuffer *> open(WeightOp weight);

  std::string directory;
  std::optional<uint64_t> seed;
  llvm::StringMap<std::shared_ptr<llvm::MemoryBuffer>> files;
  llvm::StringMap<std::string> owned;
  llvm::StringSet<> read;
};

} // namespace smelt
