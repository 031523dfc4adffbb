// smelt_context_*_dlpack: tensors of other libraries in, outputs of Smelt out.
#include "runtime/api_boundary.h"
#include "runtime/dlpack_binding.h"
#include "runtime/engine_interface.h"

using smelt::api::forwarded;
using smelt::api::guarded;
using smelt::api::required;

/// The tensor is this function's from its first line on.
static smelt_code bind(smelt_context *context, bool isInput, const char *name,
                       DLManagedTensorVersioned *tensor, smelt_error *error) {
  if (context != nullptr)
    return context->bindDlpack(isInput, name, tensor, error);
  return guarded(error, [&] {
    smelt::dlpack::SharedTensor released = smelt::dlpack::takeOver(tensor);
    return required(context, "context");
  });
}

smelt_code smelt_context_bind_input_dlpack(smelt_context *context, const char *name,
                                           DLManagedTensorVersioned *tensor, smelt_error *error) {
  return bind(context, true, name, tensor, error);
}

smelt_code smelt_context_bind_output_dlpack(smelt_context *context, const char *name,
                                            DLManagedTensorVersioned *tensor, smelt_error *error) {
  return bind(context, false, name, tensor, error);
}

smelt_code smelt_context_allocate_output_dlpack(smelt_context *context, const char *name,
                                                DLManagedTensorVersioned **tensor,
                                                smelt_error *error) {
  return forwarded(error, context, "context",
                   [&] { return context->allocateOutputDlpack(name, tensor, error); });
}
