// SPDX-License-Identifier: Apache-2.0
// Where kernels read and write, over whole grids: what a device computes is the same code, so this also checks it on a
// machine without one.
#include <QtTest>

#include "kernels/lut/indexing.h"

#include <set>
#include <vector>

using namespace retro::lut;

namespace
{

/// Lengths around the edge of a tile.
const std::vector<std::uint32_t> kLengths{2, 3, 31, 32, 33, 63, 64, 65, 97};

} // namespace

class LutIndexingTest : public QObject
{
    Q_OBJECT

private slots:
    void pairsAndTheirPlacesAreInverse()
    {
        for (const std::uint32_t length : kLengths) {
            std::uint64_t next = 0;
            for (std::uint32_t later = 1; later < length; ++later) {
                for (std::uint32_t earlier = 0; earlier < later; ++earlier, ++next) {
                    QCOMPARE(pairIndex({earlier, later}), next);
                    const PositionPair pair = pairAt(next);
                    QCOMPARE(pair.earlier, earlier);
                    QCOMPARE(pair.later, later);
                }
            }
            QCOMPARE(pairCount(length), next);
        }
    }

    void pairsOfLongSequencesDoNotOverflow()
    {
        constexpr std::uint64_t kLongest = 0x7FFFFFFF;
        QCOMPARE(pairCount(kLongest), kLongest / 2 * kLongest);
        const PositionPair last = pairAt(pairCount(kLongest) - 1);
        QCOMPARE(last.later, static_cast<std::uint32_t>(kLongest - 1));
        QCOMPARE(last.earlier, static_cast<std::uint32_t>(kLongest - 2));
        QCOMPARE(pairCount(0), std::uint64_t{0});
        QCOMPARE(pairCount(1), std::uint64_t{0});
    }

    void tilesHoldEveryPairOnce()
    {
        for (const std::uint32_t length : kLengths) {
            std::set<std::uint64_t> seen;
            for (std::uint64_t block = 0; block < tileBlocks(length); ++block) {
                for (std::uint32_t thread = 0; thread < kTilePairs; ++thread) {
                    PositionPair pair;
                    if (tilePair(block, thread, length, pair)) {
                        QVERIFY(isTileUsed(block, length));
                        QVERIFY(pair.earlier < pair.later && pair.later < length);
                        QVERIFY(seen.insert(pairIndex(pair)).second);
                    }
                }
            }
            QCOMPARE(seen.size(), static_cast<std::size_t>(pairCount(length)));
        }
    }

    void groupsCoverAListWithoutOverlap()
    {
        for (std::uint64_t count = 0; count <= 70; ++count) {
            for (std::uint64_t size = 1; size <= 40; ++size) {
                std::uint64_t next = 0;
                for (std::uint64_t group = 0; group < ceilDivide(count, size); ++group) {
                    const IndexRange range = groupRange(group, count, size);
                    QCOMPARE(range.begin, next);
                    QVERIFY(range.end > range.begin && range.end - range.begin <= size);
                    next = range.end;
                }
                QCOMPARE(next, count);
            }
        }
    }

    void loopsOfAGridReachEveryItemOnce()
    {
        for (const std::uint64_t items : {0U, 1U, 31U, 32U, 33U, 1000U, 1024U, 1025U}) {
            for (const std::uint64_t blockSize : {1U, 32U, 33U, 256U}) {
                for (const std::uint64_t limit : {1U, 2U, 3U, 65'535U}) {
                    const std::uint64_t blocks = gridExtent(ceilDivide(items, blockSize), limit);
                    QVERIFY(blocks <= limit);
                    std::vector<int> visits(items);
                    for (std::uint64_t block = 0; block < blocks; ++block) {
                        for (std::uint64_t thread = 0; thread < blockSize; ++thread) {
                            for (std::uint64_t i = gridFirst(block, blockSize, thread); i < items;
                                 i += gridStride(blocks, blockSize)) {
                                ++visits[i];
                            }
                        }
                    }
                    QVERIFY(std::all_of(visits.begin(), visits.end(), [](int count) { return count == 1; }));
                }
            }
        }
    }

    void placesAreDistinctAndInOrder()
    {
        std::uint64_t next = 0;
        for (std::uint64_t sample = 0; sample < 3; ++sample) {
            for (std::uint64_t position = 0; position < 5; ++position) {
                for (std::uint64_t table = 0; table < 7; ++table) {
                    const std::uint64_t site = siteOf(sample, position, table, 5, 7);
                    for (std::uint64_t row = 0; row < 8; ++row) {
                        QCOMPARE(cellOf(site, row, 8), next++);
                    }
                }
            }
        }
        QCOMPARE(neuronOf(3, 5, 8), std::uint64_t{29});
    }

    void placesBeyond32BitsAreExact()
    {
        // B 128, S 32, T 64, R 65536: 2^34 cells, which 32-bit products would fold onto each other.
        const std::uint64_t site = siteOf(127, 31, 63, 32, 64);
        QCOMPARE(site, std::uint64_t{262'143});
        QCOMPARE(cellOf(site, 65'535, 65'536), std::uint64_t{17'179'869'183});
        QCOMPARE(ceilDivide(~std::uint64_t{0}, 2), std::uint64_t{1} << 63);
    }
};

QTEST_GUILESS_MAIN(LutIndexingTest)
#include "indexingtest.moc"
