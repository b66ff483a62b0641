// SPDX-License-Identifier: Apache-2.0
#include "core/layout/layoutfolder.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/layout/layout.h"
#include "core/layout/layoutfile.h"
#include "core/layout/layoutkey.h"
#include "tests/core/layout/samplegraphs.h"

#include <QTemporaryDir>
#include <QtTest>

#include <chrono>
#include <cstring>
#include <random>

using namespace retro::layout;

namespace
{

constexpr retro::base::Hash128 keyOf(std::uint64_t number) { return {0x1234, number}; }

constexpr retro::base::Hash128 kKey = keyOf(0);
constexpr retro::base::Hash128 kOtherKey = {0x1235, 0}; // differs in the upper half alone

LayoutInput framed()
{
    LayoutInput input = samples::transformer(2);
    samples::addRandomGroups(input, 4, 7);
    return input;
}

LayeredLayout layoutOf(const LayoutInput& input) { return retro::tests::made(computeLayout(input)); }

/// The bytes with a checksum that fits, so that what is behind it is looked at.
void sign(std::vector<std::byte>& bytes)
{
    const std::size_t content = bytes.size() - sizeof(std::uint64_t);
    retro::base::Hasher hasher;
    hasher.bytes(std::span(bytes).first(content));
    const std::uint64_t sum = hasher.digest();
    std::memcpy(bytes.data() + content, &sum, sizeof sum);
}

std::filesystem::path pathOf(const QTemporaryDir& folder) { return folder.path().toStdString(); }

std::size_t filesIn(const QTemporaryDir& folder)
{
    return static_cast<std::size_t>(QDir(folder.path()).entryList({QStringLiteral("*.layout")}, QDir::Files).size());
}

} // namespace

class LayoutFolderTest : public QObject
{
    Q_OBJECT

private slots:
    void whatIsWrittenIsReadBack()
    {
        const LayoutInput input = framed();
        const LayeredLayout layout = layoutOf(input);
        RETRO_MADE(read, readLayout(writeLayout(layout, kKey), kKey, input));
        QVERIFY(read->nodes == layout.nodes);
        QVERIFY(read->nodeLayers == layout.nodeLayers);
        QVERIFY(read->layerNodes == layout.layerNodes);
        QVERIFY(read->edgePoints == layout.edgePoints);
        QVERIFY(read->edgePointOffsets == layout.edgePointOffsets);
        QVERIFY(read->groups == layout.groups);
        QVERIFY(read->bounds == layout.bounds);
        QCOMPARE(read->nodeAt(layout.nodes[7].center()), Index{7});
        std::vector<Index> all;
        read->edgesIn(layout.bounds, all);
        QCOMPARE(all.size(), input.edges.size());
    }

    void otherKeyVersionOrDrawingIsRefused()
    {
        const LayoutInput input = framed();
        std::vector<std::byte> bytes = writeLayout(layoutOf(input), kKey);
        QVERIFY(!readLayout(bytes, kOtherKey, input).ok());
        QVERIFY(!readLayout(bytes, kKey, samples::chain(5)).ok());
        LayoutInput wider = input;
        wider.nodeSizes[3].width += 1;
        QVERIFY(!readLayout(bytes, kKey, wider).ok());
        bytes[8] = std::byte{kLayoutFileVersion + 1}; // behind the head
        sign(bytes);
        const auto newer = readLayout(bytes, kKey, input);
        QVERIFY(!newer.ok());
        QVERIFY(newer.error().message.find("version 3") != std::string::npos);
    }

    void brokenBytesNeverBreakTheReader()
    {
        const LayoutInput input = framed();
        const std::vector<std::byte> whole = writeLayout(layoutOf(input), kKey);
        for (std::size_t size = 0; size < whole.size(); size += 17) {
            std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
            QVERIFY(!readLayout(cut, kKey, input).ok());
            if (cut.size() >= sizeof(std::uint64_t)) {
                sign(cut);
                QVERIFY(!readLayout(cut, kKey, input).ok());
            }
        }
        std::mt19937 random(5);
        int refused = 0;
        for (int round = 0; round < 4000; ++round) {
            std::vector<std::byte> bytes = whole;
            for (int change = 0; change < 1 + round % 3; ++change) {
                bytes[random() % (bytes.size() - sizeof(std::uint64_t))] = static_cast<std::byte>(random() % 256);
            }
            if (round % 2 == 0) { // half of the rounds get past the checksum
                sign(bytes);
            }
            const auto read = readLayout(bytes, kKey, input);
            if (!read.ok()) {
                ++refused;
                continue;
            }
            std::vector<Index> found; // whatever was let through must be safe to ask
            read->nodesIn(read->bounds, found);
            read->edgesIn(read->bounds, found);
            QVERIFY(read->nodeAt({1, 1}) >= kNone);
        }
        QVERIFY(refused > 1900);
    }

    void folderKeepsFindsAndIgnoresWhatIsBroken()
    {
        QTemporaryDir folder;
        const LayoutInput input = framed();
        const LayoutFolder kept(pathOf(folder) / "inner" / "layouts");
        QVERIFY(!kept.find(kKey, input));
        QVERIFY(kept.add(kKey, layoutOf(input)).ok());
        QVERIFY(kept.find(kKey, input).has_value());
        QVERIFY(!kept.find(kOtherKey, input));
        QVERIFY(retro::base::writeFile(kept.pathOf(kKey), "no layout").ok());
        QVERIFY(!kept.find(kKey, input));
        QVERIFY(!std::filesystem::exists(kept.pathOf(kKey)));
        QVERIFY(kept.add(kKey, layoutOf(input)).ok()); // made again
        QVERIFY(kept.find(kKey, input).has_value());
    }

    void folderDropsWhatWasNotReadLongest()
    {
        QTemporaryDir folder;
        const LayoutInput input = framed();
        const LayeredLayout layout = layoutOf(input);
        const std::uint64_t size = writeLayout(layout, kKey).size();
        const LayoutFolder kept(pathOf(folder), size * 5 / 2);
        const auto age = [&](retro::base::Hash128 key, int hours) {
            std::filesystem::last_write_time(kept.pathOf(key),
                                             std::filesystem::file_time_type::clock::now() - std::chrono::hours(hours));
        };
        QVERIFY(retro::base::writeFile(pathOf(folder) / "notes.txt", std::string(1 << 20, 'x')).ok());
        QVERIFY(kept.add(keyOf(1), layout).ok());
        age(keyOf(1), 3);
        QVERIFY(kept.add(keyOf(2), layout).ok());
        age(keyOf(2), 2);
        QVERIFY(kept.find(keyOf(1), input).has_value()); // read just now
        QVERIFY(kept.add(keyOf(3), layout).ok());
        QCOMPARE(filesIn(folder), std::size_t{2});
        QVERIFY(kept.find(keyOf(1), input).has_value());
        QVERIFY(!kept.find(keyOf(2), input));
        QVERIFY(kept.find(keyOf(3), input).has_value());
        QVERIFY(std::filesystem::exists(pathOf(folder) / "notes.txt"));
        const LayoutFolder tiny(pathOf(folder), size / 2);
        QVERIFY(tiny.add(keyOf(4), layout).ok());
        QVERIFY(!std::filesystem::exists(tiny.pathOf(keyOf(4))));
    }

    void folderThatCannotBeMadeIsAnError()
    {
        QTemporaryDir folder;
        QVERIFY(retro::base::writeFile(pathOf(folder) / "file", "x").ok());
        const LayoutFolder kept(pathOf(folder) / "file" / "layouts");
        const LayoutInput input = framed();
        RETRO_REFUSED(kept.add(kKey, layoutOf(input)), retro::base::ErrorCode::Output);
        QVERIFY(!kept.find(kKey, input));
    }

    void keyTellsDrawingsApart()
    {
        const LayoutInput input = framed();
        const retro::base::Hash128 key = layoutKey(input, {}, kOwnMethod);
        QCOMPARE(layoutKey(framed(), {}, kOwnMethod), key);
        QVERIFY(layoutKey(input, {}, "another") != key);
        LayoutOptions options;
        options.nodeGap += 1;
        QVERIFY(layoutKey(input, options, kOwnMethod) != key);
        LayoutInput wider = input;
        wider.nodeSizes[0].width += 1;
        QVERIFY(layoutKey(wider, {}, kOwnMethod) != key);
        LayoutInput regrouped = input;
        regrouped.nodeGroups[0] = regrouped.nodeGroups[0] == kNone ? 0 : kNone;
        QVERIFY(layoutKey(regrouped, {}, kOwnMethod) != key);
        LayoutInput pinned = input;
        pinned.pins.assign(input.nodeSizes.size(), Pin::None);
        QVERIFY(layoutKey(pinned, {}, kOwnMethod) != key);
    }
};

QTEST_GUILESS_MAIN(LayoutFolderTest)
#include "layoutfoldertest.moc"
