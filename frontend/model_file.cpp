#include "frontend/model_file.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <google/protobuf/io/coded_stream.h>

using namespace mlir;

namespace smelt::frontend {

namespace {

/// Messages nest about three deep per subgraph: this allows 33 nested subgraphs, and bounds the
/// parser's stack.
constexpr int kMaxNesting = 100;

LogicalResult checkFile(Location location, StringRef path) {
  llvm::sys::fs::file_status status;
  if (std::error_code error = llvm::sys::fs::status(path, status))
    return emitError(location) << "cannot open '" << path << "': " << error.message();
  if (status.type() != llvm::sys::fs::file_type::regular_file)
    return emitError(location) << "'" << path << "' is not a file";
  if (status.getSize() > kMaxModelBytes)
    return emitError(location) << "'" << path << "' has " << status.getSize()
                               << " bytes; an ONNX file holds at most " << kMaxModelBytes
                               << ", larger models keep their weights in external files";
  return success();
}

/// What else the file is that is taken for an ONNX model, by the marks at its start; "" for none.
StringRef foreignFormat(ArrayRef<char> bytes) {
  StringRef text(bytes.data(), bytes.size());
  if (text.substr(4, 4) == "ORTM") // a FlatBuffers identifier
    return "a model in ONNX Runtime's own format (.ort)";
  if (text.starts_with("ptrt") || text.starts_with("ftrt"))
    return "a TensorRT engine, compiled for one kind of GPU";
  return "";
}

} // namespace

FailureOr<std::unique_ptr<onnx_wire::Model>> parseModel(Location location, ArrayRef<char> bytes) {
  if (bytes.empty())
    return emitError(location) << "the file is empty, not an ONNX model";
  if (bytes.size() > kMaxModelBytes)
    return emitError(location) << "the model has " << bytes.size() << " bytes, at most "
                               << kMaxModelBytes << " can be read";
  if (StringRef format = foreignFormat(bytes); !format.empty())
    return emitError(location) << "is " << format
                               << "; Smelt reads the ONNX model (.onnx) that it was made from";
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t *>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(kMaxNesting);
  auto model = std::make_unique<onnx_wire::Model>();
  if (!model->ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage())
    return emitError(location)
           << "not an ONNX model, or a truncated one: its protobuf cannot be parsed";
  if (!model->has_graph())
    return emitError(location) << "not an ONNX model: it holds no graph";
  return model;
}

FailureOr<std::unique_ptr<onnx_wire::Model>> readModelFile(Location location, StringRef path) {
  if (failed(checkFile(location, path)))
    return failure();
  auto buffer =
      llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return emitError(location) << "cannot read '" << path << "': " << buffer.getError().message();
  return parseModel(location, (*buffer)->getBuffer());
}

} // namespace smelt::frontend
