// What every fuzz target asks of AddressSanitizer.

// An allocation that is refused is an error to be handled, not a finding.
extern "C" __attribute__((visibility("default"))) const char *__asan_default_options() {
  return "allocator_may_return_null=1";
}
