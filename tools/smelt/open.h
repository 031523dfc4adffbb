// Opens what the user named, an .onnx or a .plan, on the device that the user chose.
#pragma once

#include "tools/smelt/model.h"
#include "tools/smelt/session.h"

namespace smelt::tools {

enum class DeviceChoice { kAuto, kCpu };

struct OpenFlags {
  ModelFlags model;
  DeviceChoice device = DeviceChoice::kAuto;
};

/// A session, and the model that it runs.
class OpenModel {
public:
  OpenModel(std::unique_ptr<Model> model, std::unique_ptr<Session> session)
      : model(std::move(model)), opened(std::move(session)) {}

  Session &session() { return *opened; }

private:
  std::unique_ptr<Model> model;
  std::unique_ptr<Session> opened;
};

Result<std::unique_ptr<OpenModel>> openModel(const OpenFlags &flags);

} // namespace smelt::tools
