// Method: the plan says by nested loops where the elements of an initializer go (plan::WeightPart).
// The two innermost loops are one copy of rows, linear where they lie behind each other; the loops
// around it are as many copies. Where rows are no runs of the source, where there would be too many
// copies, or where elements are converted, the host gathers them in the order of the target first.
#include "runtime/update_weight.h"

#include "runtime/narrow_float.h"
#include "runtime/text.h"
#include "runtime/updated_weight.h"
#include "runtime/weight_loops.h"

#include <algorithm>
#include <cstring>
#include <ranges>

namespace smelt::runtime {

namespace {

/// Calls `visit` with source and target of every round of the loops, outermost first.
template <typename Visit>
Status forEachRound(std::span<const plan::CopyLoop> loops, uint64_t source, uint64_t target,
                    const Visit &visit) {
  if (loops.empty())
    return visit(source, target);
  const plan::CopyLoop &loop = loops.front();
  for (uint64_t i = 0; i < loop.count(); ++i)
    SMELT_RETURN_IF_ERROR(forEachRound(loops.subspan(1), source + i * loop.source_stride(),
                                       target + i * loop.target_stride(), visit));
  return {};
}

/// On the host, or a device address.
struct Source {
  Location location;
  const void *data;
};

/// Copies of rows of elements of `width` bytes to device memory.
class RowCopies {
public:
  RowCopies(const Engine &engine, const std::string &name, CUstream stream, uint64_t width)
      : api(engine.api()), name(name), stream(stream), width(width) {}

  Status copy(const Source &from, CUdeviceptr to, std::span<const plan::CopyLoop> loops,
              uint64_t source, uint64_t target) const {
    std::span<const plan::CopyLoop> outer = outerLoops(loops), inner = loops.subspan(outer.size());
    return forEachRound(outer, source, target, [&](uint64_t fromElement, uint64_t toElement) {
      const auto *start = static_cast<const std::byte *>(from.data) + fromElement * width;
      CUdeviceptr end = to + toElement * width;
      return inner.size() == 1 ? copyLine({from.location, start}, end, inner[0].count())
                               : copyRows({from.location, start}, end, inner[0], inner[1].count());
    });
  }

private:
  std::string doing() const { return "updating the weight '" + name + "'"; }

  Status copyLine(const Source &from, CUdeviceptr to, uint64_t count) const {
    if (from.location == Location::kHost)
      SMELT_RETURN_IF_CUDA_ERROR(api, doing(), cuMemcpyHtoDAsync, to, from.data, count * width,
                                 stream);
    else
      SMELT_RETURN_IF_CUDA_ERROR(api, doing(), cuMemcpyDtoDAsync, to,
                                 reinterpret_cast<CUdeviceptr>(from.data), count * width, stream);
    return {};
  }

  Status copyRows(const Source &from, CUdeviceptr to, const plan::CopyLoop &rows,
                  uint64_t count) const {
    CUDA_MEMCPY2D move = {};
    bool isHost = from.location == Location::kHost;
    move.srcMemoryType = isHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    move.srcHost = isHost ? from.data : nullptr;
    move.srcDevice = isHost ? 0 : reinterpret_cast<CUdeviceptr>(from.data);
    move.srcPitch = rows.source_stride() * width;
    move.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    move.dstDevice = to;
    move.dstPitch = rows.target_stride() * width;
    move.WidthInBytes = count * width;
    move.Height = rows.count();
    SMELT_RETURN_IF_CUDA_ERROR(api, doing(), cuMemcpy2DAsync, &move, stream);
    return {};
  }

  const DriverApi &api;
  const std::string &name;
  CUstream stream;
  uint64_t width;
};

/// Elements in the order of the target, converted to its type.
std::vector<std::byte> gathered(const std::byte *values, plan::ElementType type,
                                const plan::WeightPartT &part) {
  uint64_t from = plan::elementBytes(type), to = plan::elementBytes(part.element_type);
  std::vector<std::byte> result(roundsOf(part.loops) * to);
  std::byte *next = result.data();
  Status done = forEachRound(part.loops, part.source_offset, 0, [&](uint64_t element, uint64_t) {
    const std::byte *value = values + element * from;
    if (type == part.element_type) {
      std::memcpy(next, value, to);
    } else {
      float wide = 0;
      std::memcpy(&wide, value, sizeof(wide));
      uint16_t narrow =
          part.element_type == plan::ElementType::bf16 ? bfloat16Of(wide) : halfOf(wide);
      std::memcpy(next, &narrow, sizeof(narrow));
    }
    next += to;
    return Status();
  });
  static_cast<void>(done); // nothing in it fails
  return result;
}

/// The loops of a part whose source was gathered: its elements lie behind each other.
std::vector<plan::CopyLoop> gatheredLoops(const plan::WeightPartT &part) {
  std::vector<plan::CopyLoop> loops;
  uint64_t stride = 1;
  for (const plan::CopyLoop &loop : std::views::reverse(part.loops)) {
    bool continues = !loops.empty() &&
                     loop.target_stride() == loops.back().count() * loops.back().target_stride();
    if (continues)
      loops.back() = {loops.back().count() * loop.count(), loops.back().source_stride(),
                      loops.back().target_stride()};
    else
      loops.emplace_back(loop.count(), stride, loop.target_stride());
    stride *= loop.count();
  }
  std::reverse(loops.begin(), loops.end());
  return withRows(loops);
}

/// One update of one initializer.
class Update {
public:
  Update(const Engine &engine, const plan::InitializerT &initializer, const Binding &values,
         CUstream stream)
      : engine(engine), initializer(initializer), values(values), stream(stream) {}

  Status run() {
    for (const auto &part : initializer.parts) {
      CUdeviceptr address = engine.weightAddress(part->weight);
      if (address == 0) // the kernels of this device read it in another form
        continue;
      engine.weightPool().update(address);
      SMELT_RETURN_IF_ERROR(isCopied(initializer.element_type, *part) ? copy(*part, address)
                                                                      : gather(*part, address));
    }
    return {};
  }

private:
  RowCopies copiesOf(const plan::WeightPartT &part) const {
    return {engine, initializer.name, stream, plan::elementBytes(part.element_type)};
  }

  Status copy(const plan::WeightPartT &part, CUdeviceptr address) const {
    return copiesOf(part).copy({values.location, values.data}, address, withRows(part.loops),
                               part.source_offset, part.target_offset);
  }

  Status gather(const plan::WeightPartT &part, CUdeviceptr address) {
    SMELT_RETURN_IF_ERROR(fetch());
    const auto *host = static_cast<const std::byte *>(
        values.location == Location::kHost ? values.data : fetched.data());
    std::vector<std::byte> packed = gathered(host, initializer.element_type, part);
    SMELT_RETURN_IF_ERROR(copiesOf(part).copy({Location::kHost, packed.data()}, address,
                                              gatheredLoops(part), 0, part.target_offset));
    return wait(); // for what is copied from memory that ends here
  }

  /// What lies on the device, on the host.
  Status fetch() {
    if (values.location == Location::kHost || !fetched.empty())
      return {};
    fetched.resize(values.bytes);
    SMELT_RETURN_IF_CUDA_ERROR(engine.api(), "reading the new values of a weight",
                               cuMemcpyDtoHAsync, fetched.data(),
                               reinterpret_cast<CUdeviceptr>(values.data), values.bytes, stream);
    return wait();
  }

  Status wait() const {
    RelaxedCapture relaxed(engine.api());
    SMELT_RETURN_IF_CUDA_ERROR(engine.api(), "waiting for the update of a weight",
                               cuStreamSynchronize, stream);
    return {};
  }

  const Engine &engine;
  const plan::InitializerT &initializer;
  const Binding &values;
  CUstream stream;
  std::vector<std::byte> fetched;
};

} // namespace

Status updateWeight(const Engine &engine, const std::string &name, const Binding &values,
                    CUstream stream) {
  SMELT_ASSIGN_OR_RETURN(const plan::InitializerT *initializer,
                         findUpdated(engine.metadata(), name, values));
  SMELT_ASSIGN_OR_RETURN(CurrentContext current, CurrentContext::enter(*engine.device()));
  SMELT_ASSIGN_OR_RETURN(bool captures, isCapturing(engine.api(), stream));
  if (captures)
    return Status(StatusCode::kUsage, "weights are not updated on a capturing stream: the capture "
                                      "would update them at each launch");
  SMELT_RETURN_IF_ERROR(Update(engine, *initializer, values, stream).run());
  engine.logger().log(Severity::kInfo, "updated the weight '", name, "', ",
                      isUpdatedByCopies(*initializer) ? "by copies alone"
                                                      : "laid out anew by the host");
  return {};
}

} // namespace smelt::runtime
