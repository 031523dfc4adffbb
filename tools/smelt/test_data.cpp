#include "tools/smelt/test_data.h"

#include "codegen/element_type.h"
#include "frontend/element_type.h"
#include "frontend/onnx.pb.h"
#include "frontend/tensor_reader.h"
#include "runtime/mapped_file.h"
#include "runtime/text.h"

#include "llvm/Support/FileSystem.h"

#include <cstring>
#include <limits>

namespace smelt::tools {

static std::optional<ElementType> elementTypeOf(int32_t dataType) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::Type type = frontend::elementType(&context, dataType);
  return type ? std::optional(codegen::planElementType(type)) : std::nullopt;
}

static Result<Array> readTensor(const std::string &path) {
  SMELT_ASSIGN_OR_RETURN(runtime::MappedFile file, runtime::MappedFile::open(path));
  auto refuse = [&](const auto &...why) {
    return Status(StatusCode::kUsage, joinText(path, ": ", why...));
  };
  onnx_wire::Tensor tensor;
  bool isSmall = file.bytes().size() <= std::numeric_limits<int>::max();
  if (!isSmall ||
      !tensor.ParseFromArray(file.bytes().data(), static_cast<int>(file.bytes().size())))
    return refuse("is no serialised ONNX tensor");
  std::optional<ElementType> type = elementTypeOf(tensor.data_type());
  if (!type)
    return refuse("holds elements of ONNX data type ", tensor.data_type(),
                  ", which is not supported");
  std::vector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  std::string bytes = tensor.has_raw_data() ? tensor.raw_data() : frontend::packTypedFields(tensor);
  std::optional<uint64_t> wanted = byteCount(*type, shape);
  if (unsigned perByte = frontend::elementsPerByte(tensor.data_type()); perByte > 1 && wanted) {
    uint64_t count = *wanted;
    wanted = count / perByte + (count % perByte != 0);
    if (wanted == bytes.size()) {
      bytes = frontend::unpackElements(tensor.data_type(), bytes, count);
      wanted = count;
    }
  }
  if (wanted != bytes.size())
    return refuse("shape ", shapeText(shape), " of ", typeName(*type), " does not take the ",
                  bytes.size(), " bytes of its data");
  SMELT_ASSIGN_OR_RETURN(Array array, Array::zeros(*type, shape));
  if (!bytes.empty())
    std::memcpy(array.bytes.data(), bytes.data(), bytes.size());
  return array;
}

/// Reads `folder`/`stem`_0.pb, `stem`_1.pb, ... up to the first that is missing.
static Result<std::vector<Array>> readSeries(const std::string &folder, const char *stem) {
  std::vector<Array> arrays;
  for (size_t i = 0;; ++i) {
    std::string path = joinText(folder, "/", stem, "_", i, ".pb");
    if (!llvm::sys::fs::exists(path))
      return arrays;
    SMELT_ASSIGN_OR_RETURN(Array array, readTensor(path));
    arrays.push_back(std::move(array));
  }
}

Result<TestData> readTestData(const std::string &folder) {
  TestData data;
  SMELT_ASSIGN_OR_RETURN(data.inputs, readSeries(folder, "input"));
  SMELT_ASSIGN_OR_RETURN(data.outputs, readSeries(folder, "output"));
  if (data.inputs.empty() && data.outputs.empty())
    return Status(StatusCode::kUsage,
                  joinText(folder, ": holds neither input_0.pb nor output_0.pb"));
  return data;
}

} // namespace smelt::tools
