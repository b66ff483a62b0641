// SPDX-License-Identifier: Apache-2.0
#include "core/tape/loops.h"
#include "core/tape/recursion.h"
#include "core/tape/scalar/modular.h"
#include "tests/core/tape/arrayoperators.h"
#include "tests/core/tape/dual.h"
#include "tests/core/tape/golden.h"
#include "tests/core/tape/machine.h"
#include "tests/core/tape/rational.h"
#include "tests/core/tape/symbol.h"

#include <cmath>
#include <limits>
#include <stdexcept>

namespace retro::tapetest
{

using namespace retro::tape;
using nlohmann::json;

namespace
{

template <class K>
K scalarOf(const json& number);

template <>
Rational scalarOf<Rational>(const json& number)
{
    const std::string text = number.is_string() ? number.get<std::string>() : number.dump();
    const auto read = parseRational(text);
    if (!read) {
        throw std::runtime_error("not a fraction: " + text);
    }
    return *read;
}

template <>
double scalarOf<double>(const json& number)
{
    if (number.is_number()) {
        return number.get<double>();
    }
    const std::string text = number;
    if (text == "nan") {
        return std::numeric_limits<double>::quiet_NaN();
    }
    if (text == "inf" || text == "-inf") {
        return text == "inf" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
    }
    return scalarOf<Rational>(number).toDouble();
}

template <>
Symbol scalarOf<Symbol>(const json& number)
{
    return number.is_string() ? Symbol(number.get<std::string>()) : Symbol(number.get<std::int64_t>());
}

template <>
Dual<Rational> scalarOf<Dual<Rational>>(const json& number)
{
    return {scalarOf<Rational>(number), Rational(0)};
}

template <>
Dual<double> scalarOf<Dual<double>>(const json& number)
{
    return {scalarOf<double>(number), 0};
}

bool same(const Rational& a, const Rational& b) { return a == b; }
bool same(const Symbol& a, const Symbol& b) { return a == b; }
bool same(double a, double b)
{
    return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-12 * std::abs(b);
}

std::string shown(const Rational& a) { return a.text(); }
std::string shown(const Symbol& a) { return a.text; }
std::string shown(double a) { return toText(a); }

template <class K>
Array<K> arrayOf(const json& value)
{
    if (!value.is_object()) {
        return scalarArray(scalarOf<K>(value));
    }
    Array<K> array{value.at("shape").get<tensor::Shape>(), {}};
    for (const json& number : value.at("data")) {
        array.data.push_back(scalarOf<K>(number));
    }
    return array;
}

template <class K>
std::string difference(const std::string& what, const Array<K>& got, const Array<K>& wanted)
{
    bool agrees = got.shape == wanted.shape && got.data.size() == wanted.data.size();
    std::string text;
    for (std::size_t i = 0; i < got.data.size(); ++i) {
        agrees = agrees && same(got.data[i], wanted.data[i]);
        text += " " + shown(got.data[i]);
    }
    return agrees ? std::string() : what + " is" + text;
}

template <class K>
std::string differenceOfAll(const std::string& what, const std::vector<Array<K>>& got, const json& wanted)
{
    if (got.size() != wanted.size()) {
        return what + " has another number of entries";
    }
    for (std::size_t id = 0; id < got.size(); ++id) {
        const std::string text = difference(what + " of id " + std::to_string(id), got[id], arrayOf<K>(wanted[id]));
        if (!text.empty()) {
            return text;
        }
    }
    return {};
}

template <class K>
struct Case
{
    std::vector<Array<K>> leaves;
    NodeList<Array<K>> nodes;
    Payload<Array<K>> payload;
};

template <class K>
OperatorSpec<K> specOf(const json& node)
{
    const json attributes = node.value("attrs", json::object());
    OperatorSpec<K> spec{node.at("op")};
    if (attributes.contains("k")) {
        spec.factor = scalarOf<K>(attributes["k"]);
    }
    spec.shape = attributes.value("shape", tensor::Shape());
    spec.index = attributes.value("index", std::vector<std::int64_t>());
    spec.key = attributes.value("name", attributes.value("key", std::string()));
    return spec;
}

template <class K>
Case<K> caseOf(const json& golden)
{
    Case<K> made;
    for (const json& leaf : golden.at("leaves")) {
        made.leaves.push_back(arrayOf<K>(leaf));
    }
    for (const json& node : golden.at("nodes")) {
        const std::vector<Id> parents = node.at("in");
        auto op = makeArrayOperator<K>(specOf<K>(node), parents.size());
        if (!op.ok()) {
            throw std::runtime_error(op.error().text());
        }
        made.nodes.push_back({*op, parents, node.at("op")});
    }
    const json payload = golden.value("payload", json::object());
    for (const auto& [key, value] : payload.items()) {
        made.payload.emplace(key, arrayOf<K>(value));
    }
    return made;
}

template <class T>
T taken(Outcome<T> outcome)
{
    if (!outcome.ok()) {
        throw std::runtime_error(outcome.error().message);
    }
    return std::move(outcome).value();
}

template <class K>
std::vector<Array<K>> seedOf(const json& golden, const Tape<Array<K>>& tape)
{
    std::vector<Array<K>> seed;
    for (Id id = 0; id < tape.size(); ++id) {
        const auto at = golden.at("seed").find(std::to_string(id));
        seed.push_back(at == golden["seed"].end() ? ValueTraits<Array<K>>::zeroLike(tape.cell(id).value)
                                                  : arrayOf<K>(*at));
    }
    return seed;
}

/// Compares every visited cell with the next row of the expected trace.
template <class K>
class TraceCheck final : public Watcher<Array<K>>
{
public:
    TraceCheck(const json& rows, std::vector<Array<K>> accumulated) : m_rows(rows), m_slots(std::move(accumulated)) {}

    void onCell(Id id, const Array<K>& upstream, const std::vector<Contribution<Array<K>>>& list) override
    {
        for (const Contribution<Array<K>>& part : list) {
            m_slots[part.parent] = ValueTraits<Array<K>>::add(m_slots[part.parent], part.value);
        }
        if (m_difference.empty()) {
            m_difference = m_at < m_rows.size() ? compare(m_rows[m_at], id, upstream, list) : "trace is too short";
        }
        ++m_at;
    }

    [[nodiscard]] std::string difference() const
    {
        return m_difference.empty() && m_at != m_rows.size() ? "trace has another number of rows" : m_difference;
    }

private:
    std::string compare(const json& row, Id id, const Array<K>& upstream,
                        const std::vector<Contribution<Array<K>>>& list) const
    {
        const std::string where = "trace at id " + std::to_string(id);
        if (row.at("id") != id || row.at("contributions").size() != list.size()) {
            return where + " visits another id or has another number of contributions";
        }
        std::string text = tapetest::difference(where + " upstream", upstream, arrayOf<K>(row.at("upstream")));
        for (std::size_t i = 0; i < list.size() && text.empty(); ++i) {
            const json& wanted = row["contributions"][i];
            text = wanted[0] == list[i].parent
                       ? tapetest::difference(where + " contribution", list[i].value, arrayOf<K>(wanted[1]))
                       : where + " contributes to another id";
        }
        for (Id slot = 0; slot < m_slots.size() && text.empty(); ++slot) {
            const json wanted{{"shape", m_slots[slot].shape}, {"data", row.at("slots_after").at(slot)}};
            text = tapetest::difference(where + " slot " + std::to_string(slot), m_slots[slot], arrayOf<K>(wanted));
        }
        return text;
    }

    const json m_rows;
    std::vector<Array<K>> m_slots;
    std::size_t m_at = 0;
    std::string m_difference;
};

template <class K>
class VisitLog final : public Watcher<Array<K>>
{
public:
    std::vector<Id> visited;
    void onCell(Id id, const Array<K>&, const std::vector<Contribution<Array<K>>>&) override { visited.push_back(id); }
};

template <class K>
std::string checkSkipping(const json& golden, const Tape<Array<K>>& tape, const std::vector<Array<K>>& seed)
{
    const json& sparse = golden["expect"]["sparse"];
    const Id out = sparse.at("out");
    Slots<Array<K>> accumulated(tape.size());
    accumulated[out] = seed[out];
    VisitLog<K> log;
    const auto grads = filled(tape, taken(skippingLoop<Array<K>>(tape, std::move(accumulated), &log)));
    if (json(log.visited) != sparse.at("visited")) {
        return "the skipping loop visits " + json(log.visited).dump();
    }
    return differenceOfAll("skipping slot", grads, sparse.at("grads"));
}

template <class K>
std::string checkTangent(const json& golden, const std::vector<Array<K>>& seed,
                         const std::vector<Array<K>>& accumulated)
{
    Case<Dual<K>> dual = caseOf<Dual<K>>(golden);
    std::vector<Array<K>> direction;
    for (std::size_t leaf = 0; leaf < dual.leaves.size(); ++leaf) {
        direction.push_back(arrayOf<K>(golden.at("dx").at(leaf)));
        for (std::size_t i = 0; i < direction.back().data.size(); ++i) {
            dual.leaves[leaf].data[i].tangent = direction.back().data[i];
        }
    }
    const auto tape = taken(compile(dual.nodes, dual.leaves, dual.payload));
    std::vector<Array<K>> tangents;
    K left(0);
    K right(0);
    for (Id id = 0; id < tape.size(); ++id) {
        Array<K> tangent{tape.cell(id).value.shape, {}};
        for (const Dual<K>& number : tape.cell(id).value.data) {
            tangent.data.push_back(number.tangent);
        }
        left = left + dot(tangent, seed[id]);
        right = id < direction.size() ? right + dot(direction[id], accumulated[id]) : right;
        tangents.push_back(std::move(tangent));
    }
    const json& adjoint = golden["expect"].at("adjoint");
    if (!same(left, scalarOf<K>(adjoint.at("jvp_dot_seed"))) || !same(right, scalarOf<K>(adjoint.at("dx_dot_grad")))) {
        return "the adjoint pair is " + shown(left) + ", " + shown(right);
    }
    return differenceOfAll("tangent", tangents, golden["expect"].at("jvp"));
}

template <class K>
std::string checkOver(const json& golden)
{
    using V = Array<K>;
    const Case<K> made = caseOf<K>(golden);
    const Tape<V> tape = taken(compile(made.nodes, made.leaves, made.payload));
    const json& expect = golden.at("expect");
    const std::vector<V> seed = seedOf(golden, tape);
    TraceCheck<K> trace(expect.value("trace", json::array()), seed);
    const std::vector<V> dense = taken(denseLoop<V>(tape, seed, expect.contains("trace") ? &trace : nullptr));
    const std::vector<V> context = taken(evaluate<V>(made.nodes, made.leaves, made.payload));
    const std::vector<V> recursed = taken(recursion<V>(made.nodes, {context, made.payload, Zeros::LeftOut}, seed));
    std::vector<std::string> differences{
        tape.size() == expect.at("size") ? "" : "the tape has another size",
        differenceOfAll("value", context, expect.at("values")),
        differenceOfAll("dense slot", dense, expect.at("dense")),
        differenceOfAll("recursion slot", recursed, expect.at("recursion")),
        trace.difference(),
        expect.contains("sparse") ? checkSkipping<K>(golden, tape, seed) : "",
    };
    if constexpr (!std::is_same_v<K, Symbol>) {
        differences.push_back(expect.contains("jvp") ? checkTangent<K>(golden, seed, dense) : "");
    }
    for (const std::string& text : differences) {
        if (!text.empty()) {
            return text;
        }
    }
    return {};
}

/// The scalar that holds every number of the case exactly; double where the case names floats or functions that no
/// fraction has.
enum class Numbers { Fractions, Floats, Symbols };

Numbers numbersOf(const json& value)
{
    if (value.is_number_float() || value == "nan" || value == "inf" || value == "-inf") {
        return Numbers::Floats;
    }
    if (value.is_string()) {
        return parseRational(value.get<std::string>()) ? Numbers::Fractions : Numbers::Symbols;
    }
    Numbers found = Numbers::Fractions;
    for (const json& entry : value.is_structured() ? value : json::array()) {
        const Numbers one = numbersOf(entry);
        found = one == Numbers::Fractions ? found : one;
    }
    return found;
}

Numbers numbersOfCase(const json& golden)
{
    for (const json& node : golden.at("nodes")) {
        const std::string op = node.at("op");
        if (op == "sym") {
            return Numbers::Symbols;
        }
        if (op == "exp" || op == "log" || op == "sigmoid") {
            return Numbers::Floats;
        }
    }
    return numbersOf(json::array({golden.at("leaves"), golden.at("seed"), golden["expect"].at("values")}));
}

} // namespace

std::string checkPass(const json& golden)
{
    switch (numbersOfCase(golden)) {
    case Numbers::Floats:
        return checkOver<double>(golden);
    case Numbers::Symbols:
        return checkOver<Symbol>(golden);
    case Numbers::Fractions:
        break;
    }
    return checkOver<Rational>(golden);
}

std::string checkFault(const json& golden)
{
    using V = Array<Rational>;
    const Case<Rational> made = caseOf<Rational>(golden);
    const std::string wanted = golden.at("expect").at("error");
    std::vector<V> seed;
    for (const json& entry : golden.at("seed_list")) {
        seed.push_back(arrayOf<Rational>(entry));
    }
    const auto nameOf = [](const Fault& fault) { return fault.isShape() ? "ShapeError" : "TapeError"; };
    const auto tape = compile(made.nodes, made.leaves, made.payload);
    if (!tape.ok()) {
        return nameOf(tape.error()) == wanted ? "" : "compile answers: " + tape.error().message;
    }
    const auto accumulated = denseLoop<V>(*tape, seed);
    if (accumulated.ok()) {
        return "the loop accepts it";
    }
    return nameOf(accumulated.error()) == wanted ? "" : "the loop answers: " + accumulated.error().message;
}

} // namespace retro::tapetest
