#include "codegen/tuning.h"

#include "codegen/embedded_headers.h"
#include "codegen/shallow_json.h"
#include "runtime/text.h"
#include "runtime/version.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace smelt::codegen {

static constexpr const char *kSchema = "smelt.tuning/1";
static constexpr double kNanosecondsPerMicrosecond = 1e3;

static auto placeOf(const TilingTime &time) { return std::tie(time.rows, time.tiling); }

llvm::ArrayRef<TilingTime> Tuning::timesOf(const std::string &product) const {
  auto found = products.find(product);
  if (found == products.end())
    return {};
  return found->second.times;
}

/// What the text holds: integers look alike everywhere.
static int64_t nanosecondsOf(const TilingTime &time) {
  return std::max<int64_t>(std::llround(time.microseconds * kNanosecondsPerMicrosecond), 1);
}

void Tuning::add(const std::string &product, const std::string &description, TilingTime time) {
  if (time.failure.empty()) // as it is when read again: the same times give the same plan
    time.microseconds = static_cast<double>(nanosecondsOf(time)) / kNanosecondsPerMicrosecond;
  Product &known = products[product];
  known.description = description;
  auto at = std::lower_bound(
      known.times.begin(), known.times.end(), time,
      [](const TilingTime &a, const TilingTime &b) { return placeOf(a) < placeOf(b); });
  if (at != known.times.end() && placeOf(*at) == placeOf(time))
    *at = std::move(time);
  else
    known.times.insert(at, std::move(time));
}

Tuning Tuning::only(const std::set<std::string> &wanted) const {
  Tuning part(deviceName, arch);
  for (const auto &[key, product] : products)
    if (wanted.contains(key))
      part.products[key] = product;
  return part;
}

static llvm::json::Object timeJson(const TilingTime &time) {
  llvm::json::Object object{{"rows", time.rows}, {"tiling", time.tiling}};
  if (time.failure.empty())
    object["ns"] = nanosecondsOf(time);
  else
    object["failure"] = llvm::json::fixUTF8(time.failure);
  return object;
}

std::string Tuning::text() const {
  llvm::json::Object list;
  for (const auto &[key, product] : products) {
    llvm::json::Array times;
    for (const TilingTime &time : product.times)
      times.push_back(timeJson(time));
    list[key] = llvm::json::Object{{"description", llvm::json::fixUTF8(product.description)},
                                   {"times", std::move(times)}};
  }
  llvm::json::Value value = llvm::json::Object{{"schema", kSchema},
                                               {"smelt_version", kVersion},
                                               {"kernels", std::string(embeddedHeadersHash())},
                                               {"device", llvm::json::fixUTF8(deviceName)},
                                               {"architecture", arch},
                                               {"products", std::move(list)}};
  return llvm::formatv("{0:2}\n", value).str();
}

/// None where the object is no time.
static std::optional<TilingTime> readTime(const llvm::json::Value &value) {
  const llvm::json::Object *object = value.getAsObject();
  if (!object)
    return std::nullopt;
  auto rows = object->getInteger("rows");
  auto tiling = object->getString("tiling"), failure = object->getString("failure");
  auto nanoseconds = object->getInteger("ns");
  bool isMeasured = nanoseconds && *nanoseconds > 0;
  if (!rows || *rows < 1 || !tiling || isMeasured == (failure && !failure->empty()))
    return std::nullopt;
  return TilingTime{*rows, tiling->str(),
                    isMeasured ? static_cast<double>(*nanoseconds) / kNanosecondsPerMicrosecond : 0,
                    isMeasured ? "" : failure->str()};
}

/// Null where the text is no JSON.
static llvm::json::Value parseJson(llvm::StringRef text) {
  llvm::Expected<llvm::json::Value> value = parseShallowJson(text);
  if (value)
    return std::move(*value);
  llvm::consumeError(value.takeError());
  return nullptr;
}

static Status damaged(const std::string &what) {
  return Status(StatusCode::kPlan,
                "no times of tilings as `smelt compile --tune` writes them: " + what);
}

static Status checkOrigin(const llvm::json::Object &file) {
  auto schema = file.getString("schema"), version = file.getString("smelt_version"),
       kernels = file.getString("kernels");
  if (schema != kSchema || !version || !kernels)
    return damaged(joinText("its schema is not ", kSchema));
  if (*version != kVersion || *kernels != llvm::StringRef(embeddedHeadersHash()))
    return Status(StatusCode::kPlan,
                  joinText("the times are of the kernels of ",
                           *version == kVersion ? "another build of Smelt " : "Smelt ",
                           version->str(), ", this is ", kVersion,
                           "; remove the file and measure again with --tune"));
  return {};
}

Result<std::shared_ptr<const Tuning>> Tuning::parseIfAny(llvm::StringRef text) {
  if (text.empty())
    return std::shared_ptr<const Tuning>();
  SMELT_ASSIGN_OR_RETURN(Tuning tuning, parse(text));
  return std::shared_ptr<const Tuning>(std::make_shared<Tuning>(std::move(tuning)));
}

std::string Tuning::deviceIn(llvm::StringRef text) {
  llvm::json::Value value = parseJson(text);
  const llvm::json::Object *file = value.getAsObject();
  return file ? file->getString("device").value_or("").str() : "";
}

Result<Tuning> Tuning::parse(llvm::StringRef text) {
  llvm::json::Value value = parseJson(text);
  const llvm::json::Object *file = value.getAsObject();
  if (!file)
    return damaged("it is no JSON object");
  SMELT_RETURN_IF_ERROR(checkOrigin(*file));
  auto device = file->getString("device"), architecture = file->getString("architecture");
  const llvm::json::Object *list = file->getObject("products");
  if (!device || !architecture || !list)
    return damaged("it lacks the device, the architecture or the products");
  Tuning tuning(device->str(), architecture->str());
  for (const auto &[key, product] : *list) {
    const llvm::json::Object *object = product.getAsObject();
    auto description = object ? object->getString("description") : std::nullopt;
    const llvm::json::Array *times = object ? object->getArray("times") : nullptr;
    if (!description || !times)
      return damaged("product " + key.str());
    for (const llvm::json::Value &each : *times) {
      std::optional<TilingTime> time = readTime(each);
      if (!time)
        return damaged("a time of product " + key.str());
      tuning.add(key.str(), description->str(), std::move(*time));
    }
  }
  return tuning;
}

} // namespace smelt::codegen
