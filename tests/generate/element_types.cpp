#include "tests/generate/element_types.h"

#include <algorithm>

namespace smelt::generate {

namespace {

struct Facts {
  ElementType type;
  const char *name;
  size_t bytes;
  double safe;
  bool isSigned;
};

constexpr Facts kFacts[] = {{Wire::FLOAT, "float32", 4, 1e9, true},
                            {Wire::FLOAT16, "float16", 2, 2e4, true},
                            {Wire::BFLOAT16, "bfloat16", 2, 1e9, true},
                            {Wire::DOUBLE, "float64", 8, 1e9, true},
                            {Wire::INT64, "int64", 8, 1e12, true},
                            {Wire::INT32, "int32", 4, 2147483647.0, true},
                            {Wire::INT16, "int16", 2, 32767, true},
                            {Wire::INT8, "int8", 1, 127, true},
                            {Wire::UINT64, "uint64", 8, 18446744073709551615.0, false},
                            {Wire::UINT32, "uint32", 4, 4294967295.0, false},
                            {Wire::UINT16, "uint16", 2, 65535, false},
                            {Wire::UINT8, "uint8", 1, 255, false},
                            {Wire::BOOL, "bool", 1, 1, false}};

/// For storage; a byte each.
constexpr Facts kSmallFacts[] = {{Wire::FLOAT8E4M3FN, "float8e4m3fn", 1, 200, true},
                                 {Wire::FLOAT8E4M3FNUZ, "float8e4m3fnuz", 1, 100, true},
                                 {Wire::FLOAT8E5M2, "float8e5m2", 1, 1e4, true},
                                 {Wire::FLOAT8E5M2FNUZ, "float8e5m2fnuz", 1, 1e4, true},
                                 {Wire::FLOAT4E2M1, "float4e2m1", 1, 6, true},
                                 {Wire::INT4, "int4", 1, 7, true},
                                 {Wire::UINT4, "uint4", 1, 15, false},
                                 {Wire::INT2, "int2", 1, 1, true},
                                 {Wire::UINT2, "uint2", 1, 3, false}};

const Facts &factsOf(ElementType type) {
  auto hasType = [type](const Facts &facts) { return facts.type == type; };
  const Facts *found = std::find_if(std::begin(kFacts), std::end(kFacts), hasType);
  return found != std::end(kFacts)
             ? *found
             : *std::find_if(std::begin(kSmallFacts), std::end(kSmallFacts), hasType);
}

} // namespace

const std::vector<ElementType> &everyType() {
  static const std::vector<ElementType> kTypes = [] {
    std::vector<ElementType> types;
    for (const Facts &facts : kFacts)
      types.push_back(facts.type);
    return types;
  }();
  return kTypes;
}

bool isFloat(ElementType type) {
  return type == Wire::FLOAT || type == Wire::FLOAT16 || type == Wire::BFLOAT16 ||
         type == Wire::DOUBLE;
}

bool isInteger(ElementType type) { return !isFloat(type) && type != Wire::BOOL; }

bool isSigned(ElementType type) { return factsOf(type).isSigned; }
size_t elementBytes(ElementType type) { return factsOf(type).bytes; }
double safeMagnitude(ElementType type) { return factsOf(type).safe; }
std::string typeName(ElementType type) { return factsOf(type).name; }

} // namespace smelt::generate
