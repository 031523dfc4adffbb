#include "ir/interpret/random.h"

#include "ir/interpret/elementwise.h"

#include <cmath>
#include <numbers>

using namespace mlir;

namespace smelt {

double Random::normal() {
  // Box and Muller's transformation; 1 - u keeps the logarithm finite.
  double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

std::optional<HostTensor> randomTensor(ArrayRef<int64_t> shape, Type elementType, uint64_t seed,
                                       RandomOptions options) {
  std::optional<HostTensor> tensor =
      HostTensor::allocate(shape, elementType, storageFor(elementType, Precision::f32));
  if (!tensor)
    return std::nullopt;
  Random random(seed);
  bool isBool = elementType.isInteger(1);
  visitStorage(tensor->getStorage(), [&](auto *tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    for (T &value : tensor->mutableValues<T>()) {
      if constexpr (std::is_same_v<T, int64_t>)
        value =
            isBool ? random.integer(0, 2)
                   : interpret::wrapInteger(elementType, random.integer(options.low, options.high));
      else
        value = static_cast<T>(random.normal() * options.deviation);
    }
  });
  return isa<FloatType>(elementType) ? HostTensor::fromBytes(shape, elementType, tensor->toBytes())
                                     : tensor;
}

} // namespace smelt
