// An input or output as smelt_tensor_info describes it.
#pragma once

#include "runtime/smelt.h"
#include "runtime/status.h"
#include "runtime/text.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

namespace smelt::api {

struct PortDescription {
  std::string name;
  int elementType = SMELT_F32;
  std::vector<smelt_int64> extents; ///< -1 where it depends on the inputs' shapes
  std::vector<std::string> texts;   ///< of the extents
  smelt_int64 alias = -1;
  smelt_int64 capacityAxis = -1;
  std::vector<const char *> textPointers = {}; ///< by pointToTexts
};

/// To be called once the descriptions stay where they are in memory.
inline void pointToTexts(std::vector<PortDescription> &ports) {
  for (PortDescription &port : ports)
    for (const std::string &text : port.texts)
      port.textPointers.push_back(text.c_str());
}

/// Fails with kUsage where there is no such port, or `info` is not initialised.
inline Status describePort(const std::vector<PortDescription> &ports, size_t index,
                           smelt_tensor_info *info) {
  if (index >= ports.size())
    return Status(StatusCode::kUsage,
                  joinText("there is no tensor ", index, "; there are ", ports.size()));
  if (info->struct_size < offsetof(smelt_tensor_info, alias))
    return Status(StatusCode::kUsage, "initialise info with SMELT_TENSOR_INFO_INIT");
  const PortDescription &port = ports[index];
  smelt_tensor_info described = {info->struct_size,   port.name.c_str(),       port.elementType,
                                 port.extents.size(), port.extents.data(),     port.alias,
                                 port.capacityAxis,   port.textPointers.data()};
  std::memcpy(info, &described, std::min(info->struct_size, sizeof(described)));
  return {};
}

} // namespace smelt::api
