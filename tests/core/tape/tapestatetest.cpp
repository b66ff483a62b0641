// SPDX-License-Identifier: Apache-2.0
// A tape that is changed step by step (cells appended, leaves moved, values computed again, cells taken out of the
// reverse pass) against its definition: after any course of changes both loops give what the recursion gives.
#include "tests/core/tape/tapeproperties.h"

#include <QtTest>

#include <rapidcheck/state.h>

using namespace retro;
using namespace retro::tape;
using namespace retro::tapetest;

namespace
{

using V = Array<Modular>;

/// The definition: nodes, leaves, the values as they were computed last.
struct Model
{
    NodeList<V> nodes;
    std::vector<V> context; ///< leaves, then nodes
    std::vector<std::uint8_t> tracked;
    Slots<V> seed;

    [[nodiscard]] std::size_t leafCount() const { return context.size() - nodes.size(); }
};

/// What is tested.
struct Subject
{
    Tape<V> tape;
    Slots<V> seed;
};

const Payload<V>& payloadOfAll()
{
    static const Payload<V> payload{{"p0", scalarArray(Modular(5))}};
    return payload;
}

V drawnValue() { return scalarArray(Modular(*rc::gen::inRange<std::int64_t>(-3, 4))); }

Id drawnId(std::size_t below) { return *rc::gen::inRange<Id>(0, static_cast<Id>(below)); }

std::vector<V> zerosAndSeeds(const Model& model)
{
    std::vector<V> all;
    for (const std::optional<V>& slot : model.seed) {
        all.push_back(slot ? *slot : scalarArray(Modular(0)));
    }
    return all;
}

std::vector<V> byDefinition(const Model& model)
{
    const Definition<V> about{model.context, payloadOfAll(), Zeros::LeftOut, model.tracked};
    return taken(recursion<V>(model.nodes, about, zerosAndSeeds(model)));
}

using Command = rc::state::Command<Model, Subject>;

class AddNode final : public Command
{
public:
    explicit AddNode(const Model& model)
    {
        const std::string op = *rc::gen::element<std::string>("add", "mul", "scale", "payload_scale");
        m_parents = {drawnId(model.context.size())};
        if (op == "add" || op == "mul") {
            m_parents.push_back(drawnId(model.context.size()));
        }
        const Modular factor(*rc::gen::inRange<std::int64_t>(-2, 3));
        m_op = *makeArrayOperator<Modular>({op, factor, {}, {}, "p0"}, m_parents.size());
        m_name = op;
    }
    /// Fewer cells than when it was drawn, once others were taken away to make the case smaller.
    void checkPreconditions(const Model& model) const override
    {
        RC_PRE(std::ranges::all_of(m_parents, [&](Id parent) { return parent < model.context.size(); }));
    }
    void apply(Model& model) const override
    {
        model.context.push_back(valueOver(model.context));
        model.nodes.push_back({m_op, m_parents, m_name});
        model.tracked.push_back(1);
        model.seed.emplace_back();
    }
    void run(const Model& /*model*/, Subject& subject) const override
    {
        const Node<V> node{m_op, m_parents, m_name};
        V value = m_op->forward(operandsOf(subject.tape, node), subject.tape.payload()).value();
        subject.tape.append({node, std::move(value)});
        subject.seed.emplace_back();
    }
    void show(std::ostream& stream) const override { stream << "add " << m_name << " of " << rc::toString(m_parents); }

private:
    [[nodiscard]] V valueOver(const std::vector<V>& context) const
    {
        std::vector<const V*> operands;
        for (const Id parent : m_parents) {
            operands.push_back(&context[parent]);
        }
        return m_op->forward(operands, payloadOfAll()).value();
    }

    std::shared_ptr<const Operator<V>> m_op;
    std::vector<Id> m_parents;
    std::string m_name;
};

/// Something about one cell.
class AtCell : public Command
{
public:
    void checkPreconditions(const Model& model) const override { RC_PRE(m_id < model.context.size()); }
    void show(std::ostream& stream) const override { stream << m_what << " at " << m_id; }

protected:
    AtCell(Id id, const char* what) : m_id(id), m_what(what) {}

    Id m_id;
    const char* m_what;
};

class SeedCell final : public AtCell
{
public:
    explicit SeedCell(const Model& model) : AtCell(drawnId(model.context.size()), "seed"), m_value(drawnValue()) {}
    void apply(Model& model) const override { model.seed[m_id] = m_value; }
    void run(const Model& /*model*/, Subject& subject) const override { subject.seed[m_id] = m_value; }

private:
    V m_value;
};

class MoveLeaf final : public AtCell
{
public:
    explicit MoveLeaf(const Model& model) : AtCell(drawnId(model.leafCount()), "move the leaf"), m_value(drawnValue())
    {}
    void apply(Model& model) const override { model.context[m_id] = m_value; }
    void run(const Model& /*model*/, Subject& subject) const override { subject.tape.setLeaf(m_id, m_value); }

private:
    V m_value;
};

class ToggleTracked final : public AtCell
{
public:
    explicit ToggleTracked(const Model& model) : AtCell(drawnId(model.context.size()), "toggle tracking") {}
    void apply(Model& model) const override { model.tracked[m_id] = model.tracked[m_id] == 0 ? 1 : 0; }
    void run(const Model& model, Subject& subject) const override
    {
        subject.tape.setTracked(m_id, model.tracked[m_id] == 0);
    }
};

class Recompute final : public Command
{
public:
    void apply(Model& model) const override
    {
        const std::vector<V> leaves(model.context.begin(),
                                    model.context.begin() + static_cast<std::ptrdiff_t>(model.leafCount()));
        model.context = taken(evaluate<V>(model.nodes, leaves, payloadOfAll()));
    }
    void run(const Model& model, Subject& subject) const override
    {
        subject.tape = taken(recompute(std::move(subject.tape)));
        const Model after = nextState(model);
        for (Id id = 0; id < subject.tape.size(); ++id) {
            RC_ASSERT(subject.tape.cell(id).value == after.context[id]);
        }
    }
    void show(std::ostream& stream) const override { stream << "compute again"; }
};

class RunDense final : public Command
{
public:
    void run(const Model& model, Subject& subject) const override
    {
        RC_ASSERT(taken(denseLoop<V>(subject.tape, filled(subject.tape, subject.seed))) == byDefinition(model));
    }
    void show(std::ostream& stream) const override { stream << "run the dense loop"; }
};

class RunSkip final : public Command
{
public:
    void run(const Model& model, Subject& subject) const override
    {
        const Slots<V> arrived = taken(skippingLoop<V>(subject.tape, subject.seed));
        RC_ASSERT(filled(subject.tape, arrived) == byDefinition(model));
    }
    void show(std::ostream& stream) const override { stream << "run the skipping loop"; }
};

} // namespace

class TapeStateTest : public QObject
{
    Q_OBJECT

private slots:
    void bothLoopsFollowEveryChange()
    {
        QVERIFY(rc::check("a tape that changes is its definition", [] {
            const std::size_t leaves = *rc::gen::inRange<std::size_t>(1, 4);
            Model model;
            for (std::size_t i = 0; i < leaves; ++i) {
                model.context.push_back(drawnValue());
            }
            model.tracked.assign(leaves, 1);
            model.seed.resize(leaves);
            Subject subject{taken(compile<V>({}, model.context, payloadOfAll())), Slots<V>(leaves)};
            rc::state::check(model, subject,
                             rc::state::gen::execOneOfWithArgs<AddNode, AddNode, SeedCell, MoveLeaf, ToggleTracked,
                                                               Recompute, RunDense, RunSkip>());
        }));
    }
};

QTEST_APPLESS_MAIN(TapeStateTest)
#include "tapestatetest.moc"
