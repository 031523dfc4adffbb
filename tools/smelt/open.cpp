#include "tools/smelt/open.h"

namespace smelt::tools {

Result<std::unique_ptr<OpenModel>> openModel(const OpenFlags &flags) {
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<Model> model, Model::import(flags.model));
  std::unique_ptr<Session> session = openCpuSession(*model, false);
  return std::make_unique<OpenModel>(std::move(model), std::move(session));
}

} // namespace smelt::tools
