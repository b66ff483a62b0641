// SPDX-License-Identifier: Apache-2.0
// Included before every source of a program that several tests share (retro_test in CMakeLists.txt): Qt Test's macros
// for main() add the class to a list, from which the one main() in sharedmain.cpp chooses.
#pragma once

#include "tests/results.h"

#include <QtTest>

#include <memory>

namespace retro::tests
{

/// Which application object a test wants around it.
enum class Surrounding { Nothing, Core, Widgets };

/// Adds a test class under the name of its source. Returns true.
bool addTest(const char* source, Surrounding surrounding, std::unique_ptr<QObject> (*make)());

} // namespace retro::tests

#undef QTEST_MAIN
#undef QTEST_GUILESS_MAIN
#undef QTEST_APPLESS_MAIN
#define RETRO_ADD_TEST(Class, surrounding)                                                                             \
    static const bool isAdded##Class =                                                                                 \
        retro::tests::addTest(__FILE__, retro::tests::Surrounding::surrounding,                                        \
                              []() -> std::unique_ptr<QObject> { return std::make_unique<Class>(); });
#define QTEST_MAIN(Class) RETRO_ADD_TEST(Class, Widgets)
#define QTEST_GUILESS_MAIN(Class) RETRO_ADD_TEST(Class, Core)
#define QTEST_APPLESS_MAIN(Class) RETRO_ADD_TEST(Class, Nothing)
