#include "runtime/read_plan.h"

#include "runtime/checked_math.h"
#include "runtime/checksum.h"
#include "runtime/text.h"
#include "runtime/unpacked_size.h"
#include "runtime/verify_cubin.h"
#include "runtime/verify_metadata.h"
#include "runtime/verify_ptx.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace smelt::runtime {

namespace {

using Bytes = std::span<const std::byte>;

constexpr const char *kRemedy = "; copy it again, or compile the model again";
constexpr uint64_t kMaxMetadataBytes = 0x7FFFFFFF; // what FlatBuffers' 32-bit offsets can address
constexpr unsigned kMaxMetadataDepth = 16;
constexpr unsigned kMaxMetadataTables = 16'000'000;

template <typename... Pieces> Status damaged(const Pieces &...pieces) {
  return Status(StatusCode::kPlan, joinText("the plan is damaged: ", pieces..., kRemedy));
}

Status truncated(uint64_t expected, uint64_t actual) {
  return Status(StatusCode::kPlan, joinText("the plan is truncated: it should have ", expected,
                                            " bytes but has ", actual, kRemedy));
}

Status checkVersion(const plan::PlanHeader &header) {
  if (header.formatMajor == plan::kFormatMajor && header.formatMinor <= plan::kFormatMinor)
    return {};
  bool newer =
      header.formatMajor > plan::kFormatMajor ||
      (header.formatMajor == plan::kFormatMajor && header.formatMinor > plan::kFormatMinor);
  return Status(
      StatusCode::kPlan,
      joinText(
          "the plan has format ", header.formatMajor, ".", header.formatMinor,
          ", this Smelt reads format ", plan::kFormatMajor, ".", plan::kFormatMinor,
          newer ? ": it was written by a newer Smelt; update this one, or compile the model again"
                : ": it was written by an older Smelt; compile the model again"));
}

Result<plan::PlanHeader> readHeader(Bytes file) {
  size_t comparable = std::min(file.size(), sizeof(plan::kMagic));
  if (comparable == 0 || std::memcmp(file.data(), plan::kMagic.data(), comparable) != 0)
    return Status(StatusCode::kPlan, "this is not a Smelt plan: it does not begin like one");
  plan::PlanHeader header;
  if (file.size() < sizeof(header))
    return truncated(sizeof(header), file.size());
  std::memcpy(&header, file.data(), sizeof(header));
  if (checksumOf(file.first(offsetof(plan::PlanHeader, headerChecksum))) != header.headerChecksum)
    return damaged("its header's checksum does not match");
  SMELT_RETURN_IF_ERROR(checkVersion(header));
  if (file.size() < header.fileBytes)
    return truncated(header.fileBytes, file.size());
  if (file.size() > header.fileBytes)
    return damaged(file.size() - header.fileBytes, " bytes follow its end");
  if (header.reserved != 0 || header.sectionCount != plan::kSectionCount)
    return damaged("its header holds unknown values");
  return header;
}

using SectionTable = std::array<plan::SectionEntry, plan::kSectionCount>;

Result<SectionTable> readTable(Bytes file, const plan::PlanHeader &header) {
  SectionTable table;
  if (!liesWithin(sizeof(header), sizeof(table), file.size()))
    return truncated(sizeof(header) + sizeof(table), file.size());
  std::memcpy(table.data(), file.data() + sizeof(header), sizeof(table));
  if (checksumOf(std::as_bytes(std::span(table))) != header.tableChecksum)
    return damaged("its section table's checksum does not match");
  return table;
}

const char *nameOf(plan::SectionType type) {
  static constexpr std::array kNames = {"metadata", "code", "sources", "weights"};
  return kNames[static_cast<uint32_t>(type) - 1];
}

bool isZero(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte(0); });
}

/// The sections lie behind each other in a fixed order, with zeros between them and nothing after
/// the last.
Status checkLayout(Bytes file, const SectionTable &table) {
  uint64_t end = sizeof(plan::PlanHeader) + sizeof(table);
  for (size_t i = 0; i < table.size(); ++i) {
    const plan::SectionEntry &entry = table[i];
    uint64_t alignment = i + 1 == table.size() ? plan::kPageBytes : plan::kSectionBytes;
    if (static_cast<uint32_t>(entry.type) != i + 1 || entry.reserved != 0 ||
        entry.alignment != alignment || entry.offset != checkedAlign(end, alignment) ||
        !liesWithin(entry.offset, entry.size, file.size()))
      return damaged("entry ", i, " of its section table makes no sense");
    if (!isZero(file.subspan(end, entry.offset - end)))
      return damaged("there are stray bytes before its ", nameOf(entry.type), " section");
    end = entry.offset + entry.size;
  }
  return end == file.size() ? Status() : damaged("its sections do not fill it");
}

/// Verifies the section's checksum, which is what reads its bytes from the disk.
Result<Bytes> readSection(Bytes file, const plan::SectionEntry &entry,
                          const LoadProgressHandler &progress) {
  Bytes section = file.subspan(entry.offset, entry.size);
  ChecksumStream checksum;
  for (uint64_t next = 0; next < section.size();) {
    uint64_t size = std::min(kLoadProgressBytes, section.size() - next);
    checksum.add(section.subspan(next, size));
    next += size;
    SMELT_RETURN_IF_ERROR(tell(progress, {"read", entry.offset + next, file.size()}));
  }
  if (checksum.result() != entry.checksum)
    return damaged("the checksum of its ", nameOf(entry.type), " section does not match");
  return section;
}

Result<std::shared_ptr<const plan::MetadataT>> readMetadata(Bytes section,
                                                            const SectionSizes &sizes) {
  if (section.size() > kMaxMetadataBytes)
    return damaged("its metadata is too large");
  std::vector<std::byte> aligned(section.begin(), section.end());
  const auto *data = reinterpret_cast<const uint8_t *>(aligned.data());
  flatbuffers::Verifier verifier(data, aligned.size(), kMaxMetadataDepth, kMaxMetadataTables);
  if (!plan::VerifyMetadataBuffer(verifier))
    return damaged("its metadata cannot be read");
  if (!unpacksWithin(*plan::GetMetadata(data), section.size()))
    return damaged("its metadata says the same things again and again, or lies askew");
  auto metadata = std::make_shared<plan::MetadataT>();
  plan::GetMetadata(data)->UnPackTo(metadata.get());
  SMELT_RETURN_IF_ERROR(verifyMetadata(*metadata, sizes));
  return std::shared_ptr<const plan::MetadataT>(std::move(metadata));
}

Status verifyCode(const Plan &plan) {
  for (const auto &program : plan.metadata().programs) {
    SMELT_ASSIGN_OR_RETURN(Architecture architecture, parseArchitecture(program->arch));
    for (const auto &module : program->modules) {
      Bytes code = plan.code(*module);
      Status status = architecture.isPtx ? verifyPtx(code) : verifyCubin(code);
      SMELT_RETURN_IF_ERROR(
          status.within(joinText("module '", module->name, "' of ", program->arch)));
    }
  }
  return {};
}

} // namespace

Bytes Plan::code(const plan::ModuleT &module) const {
  return codes.subspan(module.code.offset(), module.code.size());
}

/// The characters of a range that was verified.
static std::string_view textAt(Bytes section, const plan::Range &range) {
  Bytes text = section.subspan(range.offset(), range.size());
  return {reinterpret_cast<const char *>(text.data()), text.size()};
}

std::string_view Plan::source(const plan::ModuleT &module) const {
  return textAt(sources, module.source);
}

std::string_view Plan::fusion(const plan::ModuleT &module) const {
  return textAt(sources, module.fusion);
}

std::string_view Plan::ir() const { return textAt(sources, metadata().ir); }

Bytes Plan::bytes(const plan::WeightT &weight) const {
  return weights.subspan(weight.data.offset(), weight.data.size());
}

Result<Plan> readPlan(Bytes file, const std::string &name, const LoadProgressHandler &progress) {
  auto read = [&]() -> Result<Plan> {
    SMELT_ASSIGN_OR_RETURN(plan::PlanHeader header, readHeader(file));
    SMELT_ASSIGN_OR_RETURN(SectionTable table, readTable(file, header));
    SMELT_RETURN_IF_ERROR(checkLayout(file, table));
    Plan plan;
    plan.totalBytes = file.size();
    SMELT_ASSIGN_OR_RETURN(Bytes metadata, readSection(file, table[0], progress));
    SMELT_ASSIGN_OR_RETURN(plan.codes, readSection(file, table[1], progress));
    SMELT_ASSIGN_OR_RETURN(plan.sources, readSection(file, table[2], progress));
    SMELT_ASSIGN_OR_RETURN(plan.weights, readSection(file, table[3], progress));
    SMELT_ASSIGN_OR_RETURN(
        plan.unpacked,
        readMetadata(metadata, {plan.codes.size(), plan.sources.size(), plan.weights.size()}));
    SMELT_RETURN_IF_ERROR(verifyCode(plan));
    return plan;
  };
  Result<Plan> plan = read();
  return plan.isOk() ? std::move(plan) : Result<Plan>(plan.status().within(name));
}

Result<Plan> readPlan(const std::string &path, const LoadProgressHandler &progress) {
  SMELT_ASSIGN_OR_RETURN(MappedFile file, MappedFile::open(path));
  SMELT_ASSIGN_OR_RETURN(Plan plan, readPlan(file.bytes(), path, progress));
  plan.file = std::move(file);
  return plan;
}

} // namespace smelt::runtime
