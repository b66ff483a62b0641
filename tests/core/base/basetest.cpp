// SPDX-License-Identifier: Apache-2.0
// Results, hashes, ids, the memory account.
#include "core/base/csvfield.h"
#include "core/base/hash.h"
#include "core/base/hash128.h"
#include "core/base/ids.h"
#include "core/base/leftovers.h"
#include "core/base/memoryaccount.h"
#include "core/base/result.h"

#include <QtTest>

#include <array>
#include <set>
#include <thread>
#include <type_traits>
#include <vector>

using namespace retro::base;

namespace
{

Result<int> half(int value)
{
    if (value % 2 != 0) {
        return inputError("odd", std::to_string(value));
    }
    return value / 2;
}

Result<int> quarter(int value)
{
    RETRO_TRY(const int once, half(value));
    RETRO_TRY(int twice, half(once));
    return twice;
}

Result<void> check(int value)
{
    RETRO_CHECK(value > 0 ? Result<void>() : engineError("not positive"));
    return {};
}

std::uint64_t hashOf(std::string_view text)
{
    Hasher hash;
    hash.bytes(std::as_bytes(std::span(text.data(), text.size())));
    return hash.digest();
}

static_assert(!std::is_convertible_v<std::uint32_t, NodeId>);
static_assert(!std::is_convertible_v<NodeId, ValueId>);
static_assert(!std::is_same_v<PromiseId, HandleId>);

} // namespace

class BaseTest : public QObject
{
    Q_OBJECT

private slots:
    void leftoversEndWithTheirScope()
    {
        std::weak_ptr<int> left;
        {
            Leftovers leftovers;
            auto thing = std::make_shared<int>(1);
            left = thing;
            Leftovers::add(std::move(thing));
            QVERIFY(!left.expired());
            std::weak_ptr<int> inner;
            {
                const Leftovers narrower;
                auto other = std::make_shared<int>(2);
                inner = other;
                std::vector<std::shared_ptr<int>> value{std::move(other)};
                Leftovers::leave(std::move(value));
                QVERIFY(!inner.expired());
            }
            QVERIFY(inner.expired());
            std::thread([] { Leftovers::add(std::make_shared<int>(3)); }).join(); // has none of its own
            QVERIFY(!left.expired());
            std::vector<std::shared_ptr<const void>> taken = leftovers.take();
            QCOMPARE(taken.size(), std::size_t{1});
            Leftovers::add(std::make_shared<int>(5)); // goes on keeping
            taken.clear();
            QVERIFY(left.expired());
            auto last = std::make_shared<int>(6);
            left = last;
            Leftovers::add(std::move(last));
        }
        QVERIFY(left.expired());
        auto alone = std::make_shared<int>(4);
        left = alone;
        Leftovers::add(std::move(alone));
        QVERIFY(left.expired());
    }

    void csvFieldsAreQuotedWhereTheyMustBe()
    {
        QCOMPARE(csvField("block1/conv"), std::string("block1/conv"));
        QCOMPARE(csvField(""), std::string());
        QCOMPARE(csvField("a,b"), std::string("\"a,b\""));
        QCOMPARE(csvField("say \"so\""), std::string("\"say \"\"so\"\"\""));
        QCOMPARE(csvField("two\nlines"), std::string("\"two\nlines\""));
        QCOMPARE(csvField("old\rend"), std::string("\"old\rend\""));
    }

    void resultsCarryAValueOrAnError()
    {
        QCOMPARE(half(6).value(), 3);
        QVERIFY(!half(3).ok());
        QCOMPARE(half(3).error().text(), std::string("3: odd"));
        QCOMPARE(half(3).error().code, ErrorCode::Input);
        QCOMPARE(*quarter(12), 3);
        QCOMPARE(quarter(6).error().where, std::string("3"));
        QVERIFY(check(1).ok());
        QCOMPARE(check(0).error().code, ErrorCode::Engine);
    }

    void resultsHoldWhatCannotBeCopied()
    {
        Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
        const std::unique_ptr<int> taken = std::move(result).value();
        QCOMPARE(*taken, 7);
    }

    void errorsSayWhere()
    {
        QCOMPARE(usageError("no such verb").text(), std::string("no such verb"));
        QCOMPARE(usageError("x").code, ErrorCode::Usage);
        QCOMPARE(outputError("x").code, ErrorCode::Output);
        QCOMPARE(within(inputError("bad"), "a.onnx").text(), std::string("a.onnx: bad"));
        QCOMPARE(within(inputError("bad", "node 'c'"), "a.onnx").text(), std::string("a.onnx: node 'c': bad"));
    }

    void idsAreInvalidUntilTheyAreSet()
    {
        QVERIFY(!NodeId().isValid());
        QVERIFY(NodeId(std::size_t{3}).isValid());
        QCOMPARE(NodeId(std::size_t{3}).index(), std::size_t{3});
        QVERIFY(NodeId(3U) < NodeId(4U));
        QVERIFY(NodeId(3U) == NodeId(std::size_t{3}));
        QVERIFY(StepId(std::uint64_t{1} << 40U).isValid());
    }

    void longHashesAreThoseOfXxhash()
    {
        // The vector of the library for no bytes.
        QCOMPARE(Hasher128().digest(), std::string("99aa06d3014798d86001c324468d497f"));
        Hasher128 whole;
        Hasher128 parts;
        std::array<std::byte, 512> data{};
        for (std::size_t i = 0; i < data.size(); ++i) {
            data[i] = static_cast<std::byte>(i * 7);
        }
        whole.bytes(data);
        parts.bytes(std::span(data).first(3));
        parts.bytes(std::span(data).subspan(3));
        QCOMPARE(parts.digest(), whole.digest());
        Hasher128 text;
        text.text("ab");
        text.text("c");
        Hasher128 other;
        other.text("a");
        other.text("bc");
        QVERIFY(text.digest() != other.digest());
        QCOMPARE(text.digest().size(), std::size_t{32});
        QCOMPARE(hex(text.value()), text.digest());
        Hasher128 nested;
        nested.hash({1, 2});
        Hasher128 swapped;
        swapped.hash({2, 1});
        QVERIFY(nested.value() != swapped.value()); // both halves count
    }

    void hashesAreTheSameEverywhere()
    {
        // Fixed values: files carry hashes, so they may never change.
        QCOMPARE(hex(Hasher().digest()), std::string("9ca066f1a4ab2eea"));
        Hasher hash;
        hash.text("retrograde");
        hash.number(7);
        QCOMPARE(hex(hash.digest()), std::string("61ce28015008192e"));
        Hasher numbers;
        numbers.number(1);
        numbers.number(2);
        Hasher swapped;
        swapped.number(2);
        swapped.number(1);
        QVERIFY(numbers.digest() != swapped.digest());
        QCOMPARE(hex(0x0123456789abcdefULL), std::string("0123456789abcdef"));
        QCOMPARE(hex(0), std::string("0000000000000000"));
    }

    void textsAreHashedWithTheirLength()
    {
        Hasher first;
        first.text("ab");
        first.text("c");
        Hasher second;
        second.text("a");
        second.text("bc");
        QVERIFY(first.digest() != second.digest());
    }

    void everyByteAndEveryBitCounts()
    {
        std::set<std::uint64_t> seen;
        std::string text(40, 'a');
        seen.insert(hashOf(text));
        for (std::size_t i = 0; i < text.size(); ++i) {
            for (int bit = 0; bit < 8; ++bit) {
                std::string changed = text;
                changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
                seen.insert(hashOf(changed));
            }
        }
        QCOMPARE(seen.size(), std::size_t{1 + 40 * 8});
    }

    void theMemoryAccountKnowsItsPeak()
    {
        MemoryAccount account;
        account.add(100);
        account.add(50);
        account.remove(120);
        QCOMPARE(account.live(), std::int64_t{30});
        QCOMPARE(account.peak(), std::int64_t{150});
        account.resetPeak();
        QCOMPARE(account.peak(), std::int64_t{30});
    }

    void theMemoryAccountCountsInAllThreads()
    {
        MemoryAccount account;
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&account] {
                for (int i = 0; i < 1000; ++i) {
                    account.add(3);
                    account.remove(2);
                }
            });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
        QCOMPARE(account.live(), std::int64_t{4000});
        QVERIFY(account.peak() >= 4000);
    }
};

QTEST_GUILESS_MAIN(BaseTest)
#include "basetest.moc"
