#include "runtime/recorded_outputs.h"

#include "runtime/mapped_file.h"
#include "runtime/read_plan.h"
#include "runtime/text.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace smelt::runtime {

namespace {

/// The name of an output's file: what no file or terminal takes well is replaced.
std::string fileName(std::string name) {
  for (char &c : name)
    if (c == '/' || std::iscntrl(static_cast<unsigned char>(c)))
      c = '_';
  return name + ".npy";
}

/// Bytes of an element by a type such as '<f4'; 0 where the header names none.
size_t elementBytesOf(std::string_view header) {
  constexpr std::string_view kKey = "'descr': '";
  size_t at = header.find(kKey);
  if (at == std::string_view::npos || at + kKey.size() + 2 >= header.size())
    return 0;
  char digit = header[at + kKey.size() + 2];
  return std::isdigit(static_cast<unsigned char>(digit)) ? static_cast<size_t>(digit - '0') : 0;
}

/// The elements of a .npy file in row-major order, of the type's size.
Result<std::vector<std::byte>> readArray(const std::string &path, plan::ElementType type) {
  SMELT_ASSIGN_OR_RETURN(MappedFile file, MappedFile::open(path));
  auto text =
      std::string_view(reinterpret_cast<const char *>(file.bytes().data()), file.bytes().size());
  auto malformed = [&](const auto &...problem) {
    return Status(StatusCode::kUsage, joinText(path, ": ", problem...));
  };
  if (!text.starts_with("\x93NUMPY") || text.size() < 12)
    return malformed("this is no .npy file");
  bool isFirst = text[6] == 1; // version, whose header's length takes two bytes
  uint32_t length = 0;
  std::memcpy(&length, text.data() + 8, isFirst ? 2 : 4);
  size_t start = isFirst ? 10 : 12;
  if (length > text.size() - start)
    return malformed("this .npy file is cut off");
  std::string_view header = text.substr(start, length);
  if (header.find("'fortran_order': False") == std::string_view::npos)
    return malformed("the array is not row-major");
  if (size_t bytes = elementBytesOf(header); bytes != plan::elementBytes(type))
    return malformed("its elements have ", bytes, " bytes, the output's have ",
                     plan::elementBytes(type));
  std::span<const std::byte> elements = file.bytes().subspan(start + length);
  return std::vector<std::byte>(elements.begin(), elements.end());
}

} // namespace

Status RecordedOutputs::usePlan(const std::string &path) {
  if (path == plan)
    return {};
  SMELT_ASSIGN_OR_RETURN(Plan read, readPlan(path));
  *this = {};
  plan = path;
  for (const auto &tensor : read.metadata().outputs) {
    outputs.push_back({tensor->name, std::nullopt});
    types.push_back(tensor->element_type);
  }
  return {};
}

Status RecordedOutputs::record(const std::string &output, std::span<const std::byte> bytes) {
  std::string names;
  for (RecordedOutput &known : outputs) {
    if (known.name == output) {
      known.bytes.emplace(bytes.begin(), bytes.end());
      return {};
    }
    names += (names.empty() ? "" : ", ") + known.name;
  }
  return Status(StatusCode::kUsage,
                joinText(plan, " has no output '", output, "'; it has ", names));
}

Status RecordedOutputs::recordFolder(const std::string &folder) {
  std::vector<std::vector<std::byte>> all;
  for (size_t i = 0; i < outputs.size(); ++i) {
    SMELT_ASSIGN_OR_RETURN(all.emplace_back(),
                           readArray(folder + "/" + fileName(outputs[i].name), types[i]));
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    outputs[i].bytes = std::move(all[i]);
  return {};
}

void RecordedOutputs::beginRun() { positions[std::this_thread::get_id()] = 0; }

const RecordedOutput *RecordedOutputs::next() {
  auto position = positions.find(std::this_thread::get_id());
  if (position == positions.end())
    return nullptr;
  size_t &index = position->second;
  while (index < outputs.size() && outputs[index].bytes && outputs[index].bytes->empty())
    ++index; // nothing is copied for an output without elements
  return index < outputs.size() ? &outputs[index++] : nullptr;
}

} // namespace smelt::runtime
