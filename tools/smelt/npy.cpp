#include "tools/smelt/npy.h"

#include "codegen/output_file.h"
#include "runtime/checked_math.h"
#include "runtime/mapped_file.h"
#include "runtime/text.h"

#include <charconv>
#include <cstring>

namespace smelt::tools {

static constexpr std::string_view kMagic = "\x93NUMPY";
static constexpr size_t kAlignment = 64;
static constexpr size_t kMaxRank = 64;

namespace {

struct Descriptor {
  std::string_view text; ///< the type in the file, little-endian
  ElementType type;
};

struct Header {
  std::string_view descr;
  bool fortranOrder = false;
  std::vector<int64_t> shape;
};

/// Reads the header, a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4),
/// }. The keys may come in any order; each must be there once.
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : rest(text) {}

  std::optional<Header> parse() {
    Header header;
    unsigned seen = 0;
    if (!take('{'))
      return std::nullopt;
    while (!take('}')) {
      std::optional<std::string_view> key = quoted();
      if (!key || !take(':') || !value(*key, header, seen))
        return std::nullopt;
      if (!take(',') && peek() != '}')
        return std::nullopt;
    }
    return seen == 7 && peek() == '\0' ? std::optional(header) : std::nullopt;
  }

private:
  bool value(std::string_view key, Header &header, unsigned &seen) {
    if (key == "descr")
      return mark(seen, 1) && assign(header.descr, quoted());
    if (key == "fortran_order")
      return mark(seen, 2) && assign(header.fortranOrder, boolean());
    return key == "shape" && mark(seen, 4) && assign(header.shape, shape());
  }

  template <typename T> static bool assign(T &target, std::optional<T> parsed) {
    if (parsed)
      target = std::move(*parsed);
    return parsed.has_value();
  }

  static bool mark(unsigned &seen, unsigned bit) {
    bool fresh = !(seen & bit);
    seen |= bit;
    return fresh;
  }

  /// The next character that is no white space; '\0' at the end.
  char peek() {
    while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\n'))
      rest.remove_prefix(1);
    return rest.empty() ? '\0' : rest.front();
  }

  bool take(char wanted) {
    if (peek() != wanted)
      return false;
    rest.remove_prefix(1);
    return true;
  }

  std::optional<std::string_view> quoted() {
    char quote = peek();
    if (quote != '\'' && quote != '"')
      return std::nullopt;
    size_t end = rest.find(quote, 1);
    if (end == std::string_view::npos)
      return std::nullopt;
    std::string_view text = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
    return text;
  }

  std::optional<bool> boolean() {
    peek();
    for (bool value : {false, true}) {
      std::string_view word = value ? "True" : "False";
      if (rest.starts_with(word)) {
        rest.remove_prefix(word.size());
        return value;
      }
    }
    return std::nullopt;
  }

  std::optional<std::vector<int64_t>> shape() {
    std::vector<int64_t> extents;
    if (!take('('))
      return std::nullopt;
    while (!take(')')) {
      int64_t extent = 0;
      peek();
      auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), extent);
      if (error != std::errc() || extent < 0 || extents.size() == kMaxRank)
        return std::nullopt;
      rest.remove_prefix(static_cast<size_t>(end - rest.data()));
      extents.push_back(extent);
      if (!take(',') && peek() != ')')
        return std::nullopt;
    }
    return extents;
  }

  std::string_view rest;
};

} // namespace

static constexpr Descriptor kDescriptors[] = {
    {"<f4", ElementType::f32},     {"<f2", ElementType::f16}, {"<V2", ElementType::bf16},
    {"<f8", ElementType::f64},     {"<i8", ElementType::i64}, {"<i4", ElementType::i32},
    {"<i2", ElementType::i16},     {"|i1", ElementType::i8},  {"|u1", ElementType::u8},
    {"|b1", ElementType::boolean}, {"<u2", ElementType::u16}, {"<u4", ElementType::u32},
    {"<u8", ElementType::u64},
};

static std::optional<ElementType> typeOf(std::string_view descr) {
  if (descr == "|V2")
    return ElementType::bf16;
  if (descr == "<V1" || descr == "|V1" || descr == "<f1")
    return ElementType::u8; // as ml_dtypes' small types are saved; what they are, no file says
  for (const Descriptor &row : kDescriptors)
    if (row.text == descr)
      return row.type;
  return std::nullopt;
}

static Status malformed(const std::string &path, const std::string &problem) {
  return Status(StatusCode::kUsage, joinText(path, ": ", problem));
}

/// Splits the file's bytes into the header's text and the data.
static bool split(std::string_view file, std::string_view &header, std::string_view &data) {
  if (!file.starts_with(kMagic) || file.size() < kMagic.size() + 4)
    return false;
  unsigned char major = static_cast<unsigned char>(file[6]);
  size_t lengthBytes = major == 1 ? 2 : 4;
  size_t start = kMagic.size() + 2 + lengthBytes;
  if (major < 1 || major > 3 || file.size() < start)
    return false;
  uint32_t length = 0;
  std::memcpy(&length, file.data() + start - lengthBytes, lengthBytes);
  if (!liesWithin(start, length, file.size()))
    return false;
  header = file.substr(start, length);
  data = file.substr(start + length);
  return true;
}

Result<Array> parseNpy(const std::string &path, std::string_view file) {
  std::string_view text, data;
  if (!split(file, text, data))
    return malformed(path, "is not a .npy file, or its header is cut off");
  std::optional<Header> header = HeaderParser(text).parse();
  if (!header)
    return malformed(path, "its .npy header cannot be understood");
  std::optional<ElementType> type = typeOf(header->descr);
  if (!type)
    return malformed(path, joinText("holds elements of type '", header->descr,
                                    "', which no model input has; convert it with astype"));
  if (header->fortranOrder && header->shape.size() > 1)
    return malformed(path, "is in Fortran order; save numpy.ascontiguousarray of it");
  std::optional<uint64_t> wanted = byteCount(*type, header->shape);
  if (!wanted || *wanted != data.size())
    return malformed(path, joinText("shape ", shapeText(header->shape), " of ", typeName(*type),
                                    " does not take the ", data.size(), " bytes that follow"));
  SMELT_ASSIGN_OR_RETURN(Array tensor, Array::zeros(*type, header->shape));
  if (!data.empty())
    std::memcpy(tensor.bytes.data(), data.data(), data.size());
  if (*type == ElementType::boolean)
    for (std::byte &element : tensor.bytes)
      element = std::byte{element != std::byte{0}};
  return tensor;
}

Result<Array> readNpy(const std::string &path) {
  SMELT_ASSIGN_OR_RETURN(runtime::MappedFile file, runtime::MappedFile::open(path));
  std::span<const std::byte> bytes = file.bytes();
  return parseNpy(path, {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
}

/// The type that plain NumPy has for the elements.
static ElementType widerType(ElementType type) {
  if (isFloat(type))
    return ElementType::f32;
  return type == ElementType::i4 || type == ElementType::i2 ? ElementType::i8 : ElementType::u8;
}

static Array widened(const Array &tensor) {
  Array wide{widerType(tensor.type), tensor.shape, {}};
  wide.bytes.resize(tensor.elementCount() * plan::elementBytes(wide.type));
  for (size_t i = 0; i < tensor.elementCount(); ++i)
    wide.set(i, tensor.at(i));
  return wide;
}

/// The magic, the version, the dictionary, padded so that the data starts at a multiple of 64.
static std::string headerOf(const Array &tensor) {
  std::string dictionary = "{'descr': '";
  for (const Descriptor &row : kDescriptors)
    if (row.type == tensor.type)
      dictionary += row.text;
  dictionary += "', 'fortran_order': False, 'shape': (";
  for (int64_t extent : tensor.shape)
    dictionary += std::to_string(extent) + ", ";
  dictionary += "), }";
  size_t start = kMagic.size() + 4;
  size_t padded = (start + dictionary.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  dictionary.append(padded - start - dictionary.size() - 1, ' ');
  dictionary += '\n';
  std::string header(kMagic);
  header += '\x01';
  header += '\0';
  header += static_cast<char>(dictionary.size() & 0xFF);
  header += static_cast<char>(dictionary.size() >> 8);
  return header + dictionary;
}

Status appendNpy(codegen::ByteOutput &output, const Array &tensor) {
  if (tensor.type == ElementType::bf16 || isSmall(tensor.type))
    return appendNpy(output, widened(tensor));
  std::string header = headerOf(tensor);
  SMELT_RETURN_IF_ERROR(output.append(std::as_bytes(std::span<const char>(header))));
  return output.append(tensor.bytes);
}

Status writeNpy(const std::string &path, const Array &tensor) {
  SMELT_ASSIGN_OR_RETURN(codegen::OutputFile file, codegen::OutputFile::create(path));
  SMELT_RETURN_IF_ERROR(appendNpy(file, tensor));
  return file.publish();
}

} // namespace smelt::tools
