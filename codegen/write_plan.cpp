#include "codegen/write_plan.h"

#include "codegen/output_file.h"
#include "runtime/checked_math.h"
#include "runtime/checksum.h"
#include "runtime/text.h"
#include "runtime/verify_metadata.h"

#include <map>

namespace smelt::codegen {

namespace {

/// Where each byte range of one section goes, before anything is written.
class SectionLayout {
public:
  explicit SectionLayout(uint64_t alignment) : alignment(alignment) {}

  /// False when the section would exceed 64 bits.
  bool place(uint64_t bytes, plan::Range &range) {
    std::optional<uint64_t> offset = checkedAlign(size, alignment);
    std::optional<uint64_t> end = offset ? checkedAdd(*offset, bytes) : std::nullopt;
    if (!end)
      return false;
    range = plan::Range(*offset, bytes);
    size = *end;
    return true;
  }

  uint64_t bytes() const { return size; }

private:
  uint64_t alignment;
  uint64_t size = 0;
};

Status internalError(const std::string &message) {
  return Status(StatusCode::kInternal, "writing the plan: " + message);
}

std::span<const std::byte> bytesOf(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::span<const std::byte> bytesOf(const flatbuffers::FlatBufferBuilder &builder) {
  return std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
}

template <typename T> std::span<const std::byte> bytesOfObject(const T &object) {
  return std::as_bytes(std::span(&object, 1));
}

/// Writes the sections one behind the other and remembers what their table says of them.
class SectionWriter {
public:
  explicit SectionWriter(ByteOutput &file) : file(file) {}

  Status begin(plan::SectionType type, uint64_t alignment) {
    uint64_t offset = *checkedAlign(file.size(), alignment);
    SMELT_RETURN_IF_ERROR(file.appendZeros(offset - file.size()));
    entry = plan::SectionEntry{type, 0, offset, 0, alignment, {}};
    checksum = ChecksumStream();
    return {};
  }

  Status append(std::span<const std::byte> bytes) {
    checksum.add(bytes);
    entry.size += bytes.size();
    return file.append(bytes);
  }

  /// Fills with zeros up to `offset` from the start of the section.
  Status padTo(uint64_t offset) {
    static constexpr std::array<std::byte, plan::kWeightBytes> kZeros = {};
    return append(std::span(kZeros).first(offset - entry.size));
  }

  void end() {
    entry.checksum = checksum.result();
    table.push_back(entry);
  }

  /// Replaces the bytes of a section that has ended by as many others.
  Status replace(size_t section, std::span<const std::byte> bytes) {
    table[section].checksum = checksumOf(bytes);
    return file.overwrite(table[section].offset, bytes);
  }

  uint64_t sectionBytes() const { return entry.size; }
  const std::vector<plan::SectionEntry> &sectionTable() const { return table; }

private:
  ByteOutput &file;
  plan::SectionEntry entry{plan::SectionType::kMetadata, 0, 0, 0, 0, {}};
  ChecksumStream checksum;
  std::vector<plan::SectionEntry> table;
};

class PlanWriter {
public:
  explicit PlanWriter(PlanContents &contents) : contents(contents) {}

  Status write(ByteOutput &output) {
    SMELT_RETURN_IF_ERROR(place());
    return writeSections(output);
  }

  Status write(const std::string &path) {
    SMELT_RETURN_IF_ERROR(place());
    SMELT_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(path));
    if (!file.isSeekable()) // the header is written last
      return Status(StatusCode::kUsage, path + ": a plan needs a file that can be sought");
    SMELT_RETURN_IF_ERROR(writeSections(file));
    return file.publish();
  }

private:
  Status place() {
    SMELT_RETURN_IF_ERROR(placeModules());
    SMELT_RETURN_IF_ERROR(placeWeights());
    return checkMetadata();
  }

  Status placeModules() {
    size_t next = 0;
    std::map<std::pair<const std::byte *, size_t>, plan::Range> placed;
    for (auto &program : contents.metadata.programs)
      for (auto &module : program->modules) {
        if (next >= contents.codes.size() || next >= contents.sources.size() ||
            next >= contents.fusions.size())
          return internalError("there are more modules than codes, sources or fusions");
        std::span<const std::byte> code = contents.codes[next];
        auto [known, isNew] = placed.try_emplace({code.data(), code.size()});
        if (isNew) {
          storedCodes.push_back(code);
          if (!codes.place(code.size(), known->second))
            return internalError("the code exceeds 64 bits");
        }
        module->code = known->second;
        if (!placeText(contents.sources[next], module->source) ||
            !placeText(contents.fusions[next], module->fusion))
          return internalError("the sources exceed 64 bits");
        ++next;
      }
    if (next != contents.codes.size() || next != contents.sources.size() ||
        next != contents.fusions.size())
      return internalError("there are fewer modules than codes, sources or fusions");
    if (!placeText(contents.ir, contents.metadata.ir))
      return internalError("the sources exceed 64 bits");
    return {};
  }

  /// False where the section would exceed 64 bits.
  bool placeText(std::string_view text, plan::Range &range) {
    auto [known, isNew] = placedTexts.try_emplace({text.data(), text.size()});
    if (isNew) {
      storedTexts.push_back(text);
      if (!sources.place(text.size(), known->second))
        return false;
    }
    range = known->second;
    return true;
  }

  Status placeWeights() {
    if (contents.metadata.weights.size() != contents.weights.size())
      return internalError("the metadata's weights do not match the bytes given");
    for (size_t i = 0; i < contents.weights.size(); ++i) {
      if (!weights.place(contents.weights[i].size, contents.metadata.weights[i]->data))
        return internalError("the weights exceed 64 bits");
      weightBytes += contents.weights[i].size;
    }
    return {};
  }

  Status checkMetadata() const {
    Status status =
        verifyMetadata(contents.metadata, {codes.bytes(), sources.bytes(), weights.bytes()});
    return status.isOk() ? status : internalError(status.message());
  }

  Status writeSections(ByteOutput &file) {
    SMELT_RETURN_IF_ERROR(file.appendZeros(sizeof(plan::PlanHeader) +
                                           plan::kSectionCount * sizeof(plan::SectionEntry)));
    SectionWriter writer(file);
    SMELT_RETURN_IF_ERROR(writeMetadata(writer));
    SMELT_RETURN_IF_ERROR(writeCode(writer));
    SMELT_RETURN_IF_ERROR(writeSources(writer));
    SMELT_RETURN_IF_ERROR(writeWeights(writer));
    SMELT_RETURN_IF_ERROR(completeMetadata(writer));
    return writeHeader(file, writer.sectionTable());
  }

  void buildMetadata(flatbuffers::FlatBufferBuilder &builder) const {
    builder.Finish(plan::CreateMetadata(builder, &contents.metadata));
  }

  Status writeMetadata(SectionWriter &writer) {
    flatbuffers::FlatBufferBuilder builder;
    buildMetadata(builder);
    SMELT_RETURN_IF_ERROR(writer.begin(plan::SectionType::kMetadata, plan::kSectionBytes));
    SMELT_RETURN_IF_ERROR(writer.append(bytesOf(builder)));
    writer.end();
    return {};
  }

  /// Once the weights are written, their hashes are known, which change no byte's place.
  static Status checkSize(const SectionWriter &writer, size_t bytes) {
    return writer.sectionTable()[0].size == bytes
               ? Status()
               : internalError("hashes changed the size of the metadata");
  }

  Status completeMetadata(SectionWriter &writer) {
    flatbuffers::FlatBufferBuilder builder;
    buildMetadata(builder);
    SMELT_RETURN_IF_ERROR(checkSize(writer, builder.GetSize()));
    return writer.replace(0, bytesOf(builder));
  }

  Status writeCode(SectionWriter &writer) {
    SMELT_RETURN_IF_ERROR(writer.begin(plan::SectionType::kCode, plan::kSectionBytes));
    for (std::span<const std::byte> code : storedCodes) {
      SMELT_RETURN_IF_ERROR(
          writer.padTo(*checkedAlign(writer.sectionBytes(), plan::kSectionBytes)));
      SMELT_RETURN_IF_ERROR(writer.append(code));
    }
    writer.end();
    return {};
  }

  Status writeSources(SectionWriter &writer) {
    SMELT_RETURN_IF_ERROR(writer.begin(plan::SectionType::kSources, plan::kSectionBytes));
    for (std::string_view text : storedTexts)
      SMELT_RETURN_IF_ERROR(writer.append(bytesOf(text)));
    writer.end();
    return {};
  }

  /// In parts between which it is told how far the writing is.
  Status writeInParts(std::span<const std::byte> piece, ChecksumStream &content,
                      SectionWriter &writer) {
    constexpr size_t kPartBytes = 16 << 20;
    while (!piece.empty()) {
      std::span<const std::byte> part = piece.first(std::min(piece.size(), kPartBytes));
      content.add(part);
      SMELT_RETURN_IF_ERROR(writer.append(part));
      piece = piece.subspan(part.size());
      writtenBytes += part.size();
      if (contents.progress && !contents.progress(writtenBytes, weightBytes))
        return Status(StatusCode::kResources, "stopped before the plan was written");
    }
    return {};
  }

  Status writeWeights(SectionWriter &writer) {
    SMELT_RETURN_IF_ERROR(writer.begin(plan::SectionType::kWeights, plan::kPageBytes));
    for (size_t i = 0; i < contents.weights.size(); ++i) {
      plan::WeightT &weight = *contents.metadata.weights[i];
      ChecksumStream content;
      SMELT_RETURN_IF_ERROR(writer.padTo(weight.data.offset()));
      SMELT_RETURN_IF_ERROR(contents.weights[i].produce(
          [&](std::span<const std::byte> piece) { return writeInParts(piece, content, writer); }));
      plan::Checksum hash = content.result();
      weight.content = plan::ContentHash(hash.low, hash.high);
      if (writer.sectionBytes() != weight.data.offset() + weight.data.size())
        return internalError("weight '" + weight.name + "' did not have the size it announced");
    }
    writer.end();
    return {};
  }

  static Status writeHeader(ByteOutput &file, const std::vector<plan::SectionEntry> &table) {
    plan::PlanHeader header{};
    header.magic = plan::kMagic;
    header.formatMajor = plan::kFormatMajor;
    header.formatMinor = plan::kFormatMinor;
    header.sectionCount = plan::kSectionCount;
    header.fileBytes = file.size();
    header.tableChecksum = checksumOf(std::as_bytes(std::span(table)));
    header.headerChecksum =
        checksumOf(bytesOfObject(header).first(offsetof(plan::PlanHeader, headerChecksum)));
    SMELT_RETURN_IF_ERROR(file.overwrite(0, bytesOfObject(header)));
    return file.overwrite(sizeof(header), std::as_bytes(std::span(table)));
  }

  PlanContents &contents;
  std::vector<std::span<const std::byte>> storedCodes;
  std::map<std::pair<const char *, size_t>, plan::Range> placedTexts;
  std::vector<std::string_view> storedTexts;
  SectionLayout codes{plan::kSectionBytes};
  SectionLayout sources{1};
  SectionLayout weights{plan::kWeightBytes};
  uint64_t weightBytes = 0, writtenBytes = 0; ///< of weights
};

} // namespace

WeightBytes WeightBytes::of(std::span<const std::byte> bytes) {
  return {bytes.size(), [bytes](const ByteSink &sink) { return sink(bytes); }};
}

Status writePlan(const std::string &path, PlanContents &contents) {
  return PlanWriter(contents).write(path);
}

Status writePlan(ByteOutput &output, PlanContents &contents) {
  return PlanWriter(contents).write(output);
}

} // namespace smelt::codegen
