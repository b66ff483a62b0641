// SPDX-License-Identifier: Apache-2.0
// Properties of a tape's wiring, over integers: each is violated by a map that breaks it and no other, and is shown by
// the smallest wiring.
#include "core/engine/verify/wiringchecks.h"
#include "tests/core/engine/smalltape.h"

#include <QtTest>

#include <set>

using namespace retro;
using namespace retro::enginetest;
using engine::IntegerMap;
using tape::Modular;

namespace
{

using Numbers = tape::Array<Modular>;
using Parts = base::Result<tape::Parts<Numbers>>;
using Reverse = std::function<Parts(const tape::Site<Numbers>&, const Numbers&)>;

/// `map` with another reverse rule.
IntegerMap withReverse(const IntegerMap& map, Reverse reverse)
{
    return std::make_shared<tape::FunctionOperator<Numbers>>(
        [map](tape::Operands<Numbers> x, const tape::Payload<Numbers>& p) { return map->forward(x, p); },
        std::move(reverse));
}

/// The first part too large by all that arrived.
IntegerMap generous(const IntegerMap& map)
{
    return withReverse(map, [map](const tape::Site<Numbers>& site, const Numbers& up) -> Parts {
        RETRO_TRY(tape::Parts<Numbers> parts, map->reverse(site, up));
        if (!parts.empty()) {
            parts.front()->data.front() += up.data.front();
        }
        return parts;
    });
}

/// Every operand gets the part of another one: no total is wrong.
IntegerMap exchanged(const IntegerMap& map)
{
    return withReverse(map, [map](const tape::Site<Numbers>& site, const Numbers& up) -> Parts {
        RETRO_TRY(tape::Parts<Numbers> parts, map->reverse(site, up));
        std::ranges::reverse(parts);
        return parts;
    });
}

/// Twice `map` in both directions, so that they still fit each other: where it hands on all that arrives (`isWhole`),
/// or where it leaks.
class Doubled final : public tape::Operator<Numbers>
{
public:
    Doubled(IntegerMap map, bool isWhole) : m_map(std::move(map)), m_isWhole(isWhole) {}

    [[nodiscard]] base::Result<Numbers> forward(tape::Operands<Numbers> x,
                                                const tape::Payload<Numbers>& payload) const override
    {
        RETRO_TRY(Numbers sum, m_map->forward(x, payload));
        const std::vector<std::uint8_t> wanted(x.size(), 1);
        RETRO_TRY(const auto shares, m_map->reverse({x, sum, payload, wanted}, tape::scalarArray(Modular(1))));
        m_factor = isHandedOn(shares) == m_isWhole ? 2 : 1;
        sum.data.front() = sum.data.front() * m_factor;
        return sum;
    }
    [[nodiscard]] Parts reverse(const tape::Site<Numbers>& site, const Numbers& up) const override
    {
        return m_map->reverse(site, tape::scalarArray(up.data.front() * m_factor));
    }

private:
    static bool isHandedOn(const tape::Parts<Numbers>& shares)
    {
        Modular sum(0);
        for (const std::optional<Numbers>& share : shares) {
            sum += share->data.front();
        }
        return sum == Modular(1);
    }

    IntegerMap m_map;
    bool m_isWhole;
    mutable Modular m_factor = 1;
};

/// Rules that share a memory: that of "right" hands on twice as much once that of "left" has run. In the order of the
/// model "right" is later, so its rule runs first and nothing is wrong.
engine::ChangedMap forgetful()
{
    auto hasRun = std::make_shared<bool>(false);
    return [hasRun](const std::string& name, const IntegerMap& map) -> IntegerMap {
        if (name != "left" && name != "right") {
            return map;
        }
        const auto forward = [hasRun, map](tape::Operands<Numbers> x, const tape::Payload<Numbers>& payload) {
            *hasRun = false;
            return map->forward(x, payload);
        };
        const auto reverse = [hasRun, map, isLeft = name == "left"](const tape::Site<Numbers>& site,
                                                                    const Numbers& up) -> Parts {
            const bool isTwice = !isLeft && *hasRun;
            *hasRun = *hasRun || isLeft;
            return map->reverse(site, tape::scalarArray(up.data.front() * Modular(isTwice ? 2 : 1)));
        };
        return std::make_shared<tape::FunctionOperator<Numbers>>(forward, reverse);
    };
}

engine::ChangedMap at(const std::string& value, const std::function<IntegerMap(const IntegerMap&)>& spoil)
{
    return [value, spoil](const std::string& name, const IntegerMap& map) { return name == value ? spoil(map) : map; };
}

struct Broken
{
    const char* violated; ///< which properties, and no others
    std::shared_ptr<const execute::BoundModel> model;
    engine::ChangedMap change;
    const char* smallest; ///< end of the detail of the first of them
    const char* node;
};

std::map<std::string, Broken> brokenMaps()
{
    const auto doubled = [](bool isWhole) {
        return [isWhole](const IntegerMap& map) -> IntegerMap { return std::make_shared<Doubled>(map, isWhole); };
    };
    return {
        {"a part too large",
         {"P7 P11 P12", smallModel(), at("bent", generous), "; smallest case: bent = f(x); from bent", "bend"}},
        {"parts exchanged",
         {"P7", smallModel(), at("y", exchanged), "; smallest case: y = f(square, x), square = f(); from y", "plus"}},
        {"an order that counts",
         {"P10", forkedModel(), forgetful(), "; smallest case: y = f(left, right), right = f(x), left = f(); from y",
          "plus"}},
        {"more than arrived",
         {"P11", smallModel(), at("bent", doubled(true)), "; smallest case: bent = f(x); from bent", "bend"}},
        {"a leak that nobody booked",
         {"P12", smallModel(), at("bent", doubled(false)), "; smallest case: bent = f(x); from bent", "bend"}}};
}

} // namespace

class WiringChecksTest : public QObject
{
    Q_OBJECT

private slots:
    void aBrokenMapViolatesItsPropertyAlone_data()
    {
        QTest::addColumn<QString>("name");
        for (const auto& [name, broken] : brokenMaps()) {
            QTest::newRow(name.c_str()) << QString::fromStdString(name);
        }
    }

    void aBrokenMapViolatesItsPropertyAlone()
    {
        QFETCH(QString, name);
        const Broken broken = brokenMaps().at(name.toStdString());
        const tape::ModelTape made = tapeOf(broken.model);
        const auto target = static_cast<tape::Id>(made.tape.size() - 1);
        const engine::PropertyResults results = engine::checkWiring(made, target, 7, broken.change);
        QCOMPARE(QString::fromStdString(violatedOf(results)), QString::fromLatin1(broken.violated));
        const engine::PropertyResult& first =
            *std::ranges::find(results, engine::PropertyState::Violated, &engine::PropertyResult::state);
        QVERIFY2(first.detail.ends_with(broken.smallest), first.detail.c_str());
        QCOMPARE(first.node, std::string(broken.node));
        QCOMPARE(violatedOf(engine::checkWiring(made, target, 7)), std::string());
    }

    void aChainHasNoOtherOrder()
    {
        const tape::ModelTape chain = tapeOf(smallModel());
        const engine::PropertyResults results = engine::checkWiring(chain, idOf(chain, "y"), 7);
        const engine::PropertyResult* order = find(results, "P10");
        QVERIFY(order != nullptr && order->state == engine::PropertyState::NotApplicable);
        QCOMPARE(order->detail, std::string("each node reads the one before it, so there is no other order"));
        const tape::ModelTape forked = tapeOf(forkedModel());
        const engine::PropertyResults others = engine::checkWiring(forked, idOf(forked, "z"), 7);
        QVERIFY(find(others, "P10")->state == engine::PropertyState::Held);
    }

    void aCaseIsMadeSmall()
    {
        // Wrong as long as a node reads the same value twice.
        const engine::WiringCase given{
            2, {{0, 1}, {2}, {3, 3, 1}, {4, 2}, {5}}, {"x", "y", "a", "b", "c", "d", "e"}, 6};
        const auto isTwice = [](const engine::WiringCase& one) -> std::string {
            for (const std::vector<tape::Id>& parents : one.parents) {
                const std::set<tape::Id> once(parents.begin(), parents.end());
                if (once.size() < parents.size()) {
                    return "twice";
                }
            }
            return "";
        };
        QCOMPARE(given.text(), std::string("e = f(d), d = f(c, a), c = f(b, b, y), b = f(a), a = f(x, y); from e"));
        QCOMPARE(engine::smallestCase(given, isTwice).text(), std::string("c = f(x, x); from c"));
    }

    void anotherTargetIsReachedByFewer()
    {
        const tape::ModelTape made = tapeOf(forkedModel());
        for (const char* name : {"left", "y", "z"}) {
            for (const engine::PropertyResult& one : engine::checkWiring(made, idOf(made, name), 7)) {
                QVERIFY2(one.state == engine::PropertyState::Held, (one.id + ": " + one.detail).c_str());
            }
        }
    }
};

QTEST_APPLESS_MAIN(WiringChecksTest)
#include "wiringcheckstest.moc"
