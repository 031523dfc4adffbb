/* A program that links the compiler without the runtime, or with one of another version: the CPU's engine
 * is refused. */
#include <smelt_compiler.h>

#include <stdio.h>

#ifdef VERSION
const char *smelt_version(void) { return VERSION; }
#endif

int main(int argument_count, char **arguments) {
  smelt_error error = SMELT_ERROR_INIT;
  smelt_compilation *compilation = NULL;
  smelt_engine *engine = NULL;
  smelt_code code;
  if (argument_count < 2 ||
      smelt_compile_create(arguments[1], NULL, &compilation, &error) != SMELT_OK)
    return 1;
  code = smelt_compile_to_cpu_engine(compilation, NULL, &engine, &error);
  printf("%s\n", error.message);
  smelt_compile_destroy(compilation);
  return (int)code;
}
