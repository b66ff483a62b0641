// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtTest>

#include <string>

/// Lets QCOMPARE show standard strings.
template <>
inline char* QTest::toString(const std::string& text)
{
    return qstrdup(text.c_str());
}
