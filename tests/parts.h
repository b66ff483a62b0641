// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QByteArray>
#include <QList>
#include <QtGlobal>

#include <vector>

namespace retro::tests
{

/// Which share of a long test this process runs: RETRO_TEST_PART is "2/4" for the second of four (retro_test(… PARTS
/// 4)). Without it there is one part, which is everything.
struct Part
{
    int number = 1;
    int count = 1;

    static Part ofThisProcess()
    {
        const QList<QByteArray> words = qgetenv("RETRO_TEST_PART").split('/');
        const Part part{words.value(0).toInt(), words.value(1).toInt()};
        return part.count > 0 && part.number >= 1 && part.number <= part.count ? part : Part{};
    }

    /// True when the n-th thing to do, from 0 on, is this part's.
    [[nodiscard]] bool has(int thing) const { return thing % count == number - 1; }
};

/// Those of the numbers 0 … count − 1 that are of this process's part.
inline std::vector<int> numbersOfThisPart(int count)
{
    std::vector<int> numbers;
    const Part part = Part::ofThisProcess();
    for (int number = 0; number < count; ++number) {
        if (part.has(number)) {
            numbers.push_back(number);
        }
    }
    return numbers;
}

} // namespace retro::tests

/// Ends a test function that is not of this process's part; `thing` counts the functions from 0 on.
#define RETRO_OF_PART(thing)                                                                                           \
    do {                                                                                                               \
        if (!retro::tests::Part::ofThisProcess().has(thing)) {                                                         \
            QSKIP("of another part of this test");                                                                     \
        }                                                                                                              \
    } while (false)
