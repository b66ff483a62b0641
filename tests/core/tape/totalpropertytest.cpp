// SPDX-License-Identifier: Apache-2.0
// P11 to P14 over the wiring of random graphs: what rules hand on, for every scalar that it means something for.
// Numbers are those of docs/tape.md.
#include "core/tape/scalar/flag.h"
#include "tests/core/tape/tapeproperties.h"

#include <QtTest>

#include <concepts>
#include <limits>

using namespace retro;
using namespace retro::tape;
using namespace retro::tapetest;

namespace
{

/// Scalar wiring of a random graph with a rule of one's own: `parts(upstream, operands)`.
template <class K, class Rule>
NodeList<Array<K>> wiringOf(const RandomTape& random, const Rule& parts)
{
    NodeList<Array<K>> nodes;
    for (const RandomTape::Step& step : random.steps) {
        auto op = std::make_shared<FunctionOperator<Array<K>>>(
            [](Operands<Array<K>> x, const Payload<Array<K>>&) -> base::Result<Array<K>> { return *x.front(); },
            [parts](const Site<Array<K>>& site, const Array<K>& up) -> base::Result<Parts<Array<K>>> {
                Parts<Array<K>> list;
                for (const K& part : parts(up.data.front(), site.operands.size())) {
                    list.push_back(scalarArray(part));
                }
                return list;
            });
        nodes.push_back({op, step.parents});
    }
    return nodes;
}

template <class K, class Rule>
Tape<Array<K>> tapeOf(const RandomTape& random, const Rule& parts)
{
    const std::vector<Array<K>> leaves(random.leaves.size(), scalarArray(K(1)));
    return taken(compile(wiringOf<K>(random, parts), leaves));
}

/// A number between 0 and 1 where there is an order; of a dual number with a tangent.
template <class K>
K shareOf(std::int64_t denominator)
{
    if constexpr (requires(K k) { k.tangent; }) {
        return {inverse(Modular(denominator)), Modular(5)};
    } else {
        return inverse(K(denominator));
    }
}

/// Equal; of numbers that are rounded, as close as that many additions and products of positive numbers can bring them.
template <class K>
bool isTotal(const K& a, const K& b, const RandomTape& random)
{
    if constexpr (std::floating_point<K>) {
        std::size_t roundings = random.leaves.size();
        for (const RandomTape::Step& step : random.steps) {
            roundings += 4 * step.parents.size() + 4;
        }
        return std::abs(a - b) <= static_cast<K>(roundings) * std::numeric_limits<K>::epsilon() * std::abs(b);
    } else {
        return a == b;
    }
}

template <class K>
K atLeaves(const Tape<Array<K>>& tape, const std::vector<Array<K>>& accumulated)
{
    K sum(0);
    for (std::size_t leaf = 0; leaf < tape.leafCount(); ++leaf) {
        sum = sum + accumulated[leaf].data.front();
    }
    return sum;
}

/// Of two operands the first gets a third of what arrives and the second the rest.
template <class K>
void conservingRulesKeepTheTotal()
{
    const bool held = holds("P11: Σ leaves = Σ seeds", [](const Choices& choices, std::uint32_t start) {
        const RandomTape random = randomTape(choices);
        const auto thirds = [](const K& up, std::size_t operands) {
            const K share = shareOf<K>(3);
            return operands == 1 ? std::vector<K>{up} : std::vector<K>{up * share, up * (K(1) - share)};
        };
        const auto tape = tapeOf<K>(random, thirds);
        const Id out = static_cast<Id>(start % tape.size());
        const auto accumulated = taken(denseLoop<Array<K>>(tape, oneSeed(tape, out, scalarArray(K(7)))));
        RC_ASSERT(isTotal(atLeaves(tape, accumulated), K(7), random));
    });
    QVERIFY(held);
}

/// Books what a node must keep: what a quarter for each operand leaves over, whatever its rule then hands on.
template <class K>
class Ledger final : public Watcher<Array<K>>
{
public:
    explicit Ledger(const RandomTape& random) : m_random(random) {}
    void onCell(Id id, const Array<K>& up, const std::vector<Contribution<Array<K>>>& /*parts*/) override
    {
        const std::size_t operands = m_random.steps[id - m_random.leaves.size()].parents.size();
        leaked = leaked + up.data.front() * (K(1) - K(static_cast<std::int64_t>(operands)) * shareOf<K>(4));
    }
    K leaked = K(0);

private:
    const RandomTape& m_random;
};

/// Every operand gets a quarter of what arrives.
template <class K>
void leaksCloseTheLedger()
{
    const bool held = holds("P12: Σ leaves + Σ leaks = Σ seeds", [](const Choices& choices, std::uint32_t start) {
        const RandomTape random = randomTape(choices);
        const auto leaky = [](const K& up, std::size_t operands) {
            return std::vector<K>(operands, up * shareOf<K>(4));
        };
        const auto tape = tapeOf<K>(random, leaky);
        Ledger<K> ledger(random);
        const Id out = static_cast<Id>(start % tape.size());
        const auto accumulated = taken(denseLoop<Array<K>>(tape, oneSeed(tape, out, scalarArray(K(5))), &ledger));
        RC_ASSERT(isTotal(atLeaves(tape, accumulated) + ledger.leaked, K(5), random));
    });
    QVERIFY(held);
}

/// Every operand gets all that arrives, and a slot is the number of ways from it to the seed.
template <class K>
void countsArePaths()
{
    const bool held =
        holds("P14: a slot counts the paths to the seed", [](const Choices& choices, std::uint32_t start) {
            const RandomTape random = randomTape(choices);
            const auto tape = tapeOf<K>(random, [](const K& up, std::size_t n) { return std::vector<K>(n, up); });
            const Id out = static_cast<Id>(start % tape.size());
            const auto accumulated = taken(denseLoop<Array<K>>(tape, oneSeed(tape, out, scalarArray(K(1)))));
            // Forward from each id: how often it is read on the way to `out`.
            for (Id from = 0; from < tape.size(); ++from) {
                std::vector<std::int64_t> paths(tape.size(), 0);
                paths[from] = 1;
                for (Id id = static_cast<Id>(random.leaves.size()); id < tape.size(); ++id) {
                    for (const Id parent : random.steps[id - random.leaves.size()].parents) {
                        paths[id] += id > from ? paths[parent] : 0;
                    }
                }
                RC_ASSERT(accumulated[from].data.front() == K(paths[out]));
            }
        });
    QVERIFY(held);
}

} // namespace

class TotalPropertyTest : public QObject
{
    Q_OBJECT

private slots:
    void totalInFloat() { conservingRulesKeepTheTotal<float>(); }
    void totalInDouble() { conservingRulesKeepTheTotal<double>(); }
    void totalInModular() { conservingRulesKeepTheTotal<Modular>(); }
    void totalInRational() { conservingRulesKeepTheTotal<Rational>(); }
    void totalInDual() { conservingRulesKeepTheTotal<DualNumber>(); }

    void leaksInFloat() { leaksCloseTheLedger<float>(); }
    void leaksInDouble() { leaksCloseTheLedger<double>(); }
    void leaksInModular() { leaksCloseTheLedger<Modular>(); }
    void leaksInRational() { leaksCloseTheLedger<Rational>(); }
    void leaksInDual() { leaksCloseTheLedger<DualNumber>(); }

    void flagsAreReachability()
    {
        const bool held =
            holds("P13: a slot is set where the id reaches the seed", [](const Choices& choices, std::uint32_t start) {
                const RandomTape random = randomTape(choices);
                const auto tape = tapeOf<Flag>(
                    random, [](const Flag& up, std::size_t operands) { return std::vector<Flag>(operands, up); });
                const Id out = static_cast<Id>(start % tape.size());
                const auto accumulated = taken(denseLoop<Array<Flag>>(tape, oneSeed(tape, out, scalarArray(Flag(1)))));
                std::vector<bool> reaches(tape.size(), false);
                reaches[out] = true;
                for (Id id = out + 1; id-- > random.leaves.size();) {
                    for (const Id parent : random.steps[id - random.leaves.size()].parents) {
                        reaches[parent] = reaches[parent] || reaches[id];
                    }
                }
                for (Id id = 0; id < tape.size(); ++id) {
                    RC_ASSERT(accumulated[id].data.front().isSet == reaches[id]);
                }
            });
        QVERIFY(held);
    }

    void pathsInIntegers() { countsArePaths<std::int64_t>(); }
    void pathsInModular() { countsArePaths<Modular>(); }
    void pathsInRational() { countsArePaths<Rational>(); }
};

QTEST_APPLESS_MAIN(TotalPropertyTest)
#include "totalpropertytest.moc"
