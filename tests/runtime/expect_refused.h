// What a call of a C API that must fail says.
#pragma once

#include "runtime/smelt.h"

#include <cstring>
#include <gtest/gtest.h>

/// Calls with a fresh error and checks the code and a part of the message.
#define EXPECT_REFUSED(code, part, function, ...)                                                  \
  do {                                                                                             \
    smelt_error error = SMELT_ERROR_INIT;                                                          \
    EXPECT_EQ(function(__VA_ARGS__, &error), code);                                                \
    EXPECT_NE(std::strstr(error.message, part), nullptr) << error.message;                         \
  } while (false)
