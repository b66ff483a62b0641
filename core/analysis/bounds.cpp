// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/bounds.h"

#include "core/analysis/maxflow.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

namespace retro::analysis
{

namespace
{

/// Which gradient operators follow which, and what must wait while one runs.
class GradientReach
{
public:
    /// Empty when there are more than `most` gradient operators. O(operators² / 64) words and O(operators²) time.
    GradientReach(const OpGraph& joint, std::size_t most);

    /// The gradient operators, ascending; empty when there were too many.
    [[nodiscard]] const std::vector<OpId>& gradients() const { return m_gradients; }
    /// Bytes of gradients that are made before `op` (a gradient operator) and read after it in every order, without
    /// those that it reads itself.
    [[nodiscard]] std::uint64_t waitingBytes(OpId op) const { return m_waiting[m_rank[op]]; }

private:
    using Row = std::vector<std::uint64_t>;

    void findReach(const OpGraph& joint);
    void findBefore(const OpGraph& joint, OpId op);
    void addWaiting(const OpGraph& joint, OpValueId value);

    std::vector<OpId> m_gradients;
    std::vector<std::uint32_t> m_rank; ///< position in m_gradients, per operator
    std::vector<Row> m_before;         ///< ancestors, per gradient operator
    std::vector<Row> m_after;          ///< descendants
    std::vector<std::uint64_t> m_waiting;
};

void setBit(std::vector<std::uint64_t>& row, std::size_t at) { row[at / 64] |= 1ULL << (at % 64); }
bool bit(const std::vector<std::uint64_t>& row, std::size_t at) { return (row[at / 64] >> (at % 64) & 1U) != 0; }

void unite(std::vector<std::uint64_t>& row, const std::vector<std::uint64_t>& other)
{
    for (std::size_t i = 0; i < row.size(); ++i) {
        row[i] |= other[i];
    }
}

GradientReach::GradientReach(const OpGraph& joint, std::size_t most) : m_rank(joint.size(), kNone)
{
    for (OpId op = 0; op < joint.size(); ++op) {
        if (joint.op(op).phase == Phase::Gradient) {
            m_rank[op] = static_cast<std::uint32_t>(m_gradients.size());
            m_gradients.push_back(op);
        }
    }
    if (m_gradients.size() > most) {
        m_gradients.clear();
        return;
    }
    m_waiting.assign(m_gradients.size(), 0);
    findReach(joint);
    for (const OpId op : m_gradients) {
        for (const OpValueId output : joint.op(op).outputs) {
            addWaiting(joint, output);
        }
    }
}

void GradientReach::findReach(const OpGraph& joint)
{
    const Row empty((m_gradients.size() + 63) / 64, 0);
    m_before.assign(m_gradients.size(), empty);
    m_after.assign(m_gradients.size(), empty);
    for (const OpId op : joint.order()) {
        if (m_rank[op] != kNone) {
            findBefore(joint, op);
        }
    }
    const std::size_t count = m_gradients.size();
    for (std::size_t pair = 0; pair < count * count; ++pair) {
        if (bit(m_before[pair / count], pair % count)) {
            setBit(m_after[pair % count], pair / count);
        }
    }
}

void GradientReach::findBefore(const OpGraph& joint, OpId op)
{
    Row& before = m_before[m_rank[op]];
    for (const OpValueId input : joint.reads(op)) {
        const OpId producer = joint.value(input).producer;
        const std::uint32_t earlier = producer == kNone ? kNone : m_rank[producer];
        if (earlier != kNone) {
            unite(before, m_before[earlier]);
            setBit(before, earlier);
        }
    }
}

void GradientReach::addWaiting(const OpGraph& joint, OpValueId value)
{
    const std::uint32_t maker = m_rank[joint.value(value).producer];
    Row between(m_before.front().size(), 0);
    for (const OpId reader : joint.readers(value)) {
        if (m_rank[reader] != kNone) {
            unite(between, m_before[m_rank[reader]]);
        }
    }
    for (std::size_t i = 0; i < m_gradients.size(); ++i) {
        const auto readers = joint.readers(value);
        const bool readsItself = std::binary_search(readers.begin(), readers.end(), m_gradients[i]);
        if (bit(between, i) && bit(m_after[maker], i) && !readsItself) {
            m_waiting[i] += joint.value(value).bytes;
        }
    }
}

std::uint64_t bytesWhile(const OpGraph& graph, OpId op, bool countsPinned)
{
    std::uint64_t bytes = graph.outputBytes(op, countsPinned) + graph.op(op).workspace;
    for (const OpValueId input : graph.reads(op)) {
        const OpValue& value = graph.value(input);
        bytes += value.isPinned && !countsPinned ? 0 : value.bytes;
    }
    return bytes;
}

/// Which operators follow, and which precede, one gradient operator.
class Surroundings
{
public:
    Surroundings(const OpGraph& joint, OpId at) : m_isBefore(joint.size(), false), m_isAfter(joint.size(), false)
    {
        std::vector<OpId> open{at};
        while (!open.empty()) {
            const OpId op = open.back();
            open.pop_back();
            for (const OpValueId input : joint.reads(op)) {
                const OpId producer = joint.value(input).producer;
                if (producer != kNone && !m_isBefore[producer]) {
                    m_isBefore[producer] = true;
                    open.push_back(producer);
                }
            }
        }
        open.push_back(at);
        while (!open.empty()) {
            const OpId op = open.back();
            open.pop_back();
            for (const OpValueId output : joint.op(op).outputs) {
                addReaders(joint, output, open);
            }
        }
    }

    [[nodiscard]] bool isBefore(OpId op) const { return m_isBefore[op]; }
    [[nodiscard]] bool isAfter(OpId op) const { return m_isAfter[op]; }

private:
    void addReaders(const OpGraph& joint, OpValueId value, std::vector<OpId>& open)
    {
        for (const OpId reader : joint.readers(value)) {
            if (!m_isAfter[reader]) {
                m_isAfter[reader] = true;
                open.push_back(reader);
            }
        }
    }

    std::vector<bool> m_isBefore;
    std::vector<bool> m_isAfter;
};

bool isReadAfter(const OpGraph& joint, OpValueId value, const Surroundings& around)
{
    return std::ranges::any_of(joint.readers(value), [&](OpId reader) { return around.isAfter(reader); });
}

/// What must be computed again once one gradient operator runs, within a budget. A forward value that is read later is
/// in memory then, or its operator runs again, and so on for what that reads. Which values are in memory is chosen so
/// that the operators cost least; a price per byte in place of the budget makes that a least cut.
class Rebuilding
{
public:
    Rebuilding(const OpGraph& joint, OpId at, std::uint64_t budget);

    /// False: what the operator needs, and what may run only once and is read later, does not fit.
    [[nodiscard]] bool fits() const { return m_fits; }
    /// No choice costs less, whatever the price.
    [[nodiscard]] double leastAt(double price) const { return cutAt(price).least; }
    /// The largest leastAt(), and its price.
    struct Dearest
    {
        double cost = 0;
        double price = 0;
    };
    [[nodiscard]] Dearest dearest() const;

private:
    /// A choice: what runs again, and the bytes that stay.
    struct Cut
    {
        double cost = 0;
        double bytes = 0;
        double least = 0; ///< cost + price · (bytes − room), rounded down
    };
    struct Item
    {
        OpValueId value;
        bool isWanted; ///< read later
    };

    void setRoom(const OpGraph& joint, std::uint64_t budget, const Surroundings& around);
    void addItems(const OpGraph& joint, const Surroundings& around);
    [[nodiscard]] Cut cutAt(double price) const;
    [[nodiscard]] std::uint32_t runs(OpValueId value) const { return m_joint.value(value).producer; }
    [[nodiscard]] std::uint32_t isUsed(OpValueId value) const
    {
        return static_cast<std::uint32_t>(m_joint.size()) + value;
    }

    const OpGraph& m_joint;
    OpId m_at;
    bool m_fits = true;
    double m_room = 0;
    double m_wanted = 0;                      ///< bytes of all that is read later
    std::vector<Item> m_items;                ///< of operators before this one, what it does not read
    std::vector<OpId> m_ops;                  ///< that make them
    std::vector<std::uint32_t> m_itemOfValue; ///< kNone: it is there anyway
    double m_unit = 0;                        ///< capacity of a unit of cost
};

Rebuilding::Rebuilding(const OpGraph& joint, OpId at, std::uint64_t budget)
    : m_joint(joint), m_at(at), m_itemOfValue(joint.values().size(), kNone)
{
    const Surroundings around(joint, at);
    addItems(joint, around);
    setRoom(joint, budget, around);
}

/// What the operator needs, gradients that wait meanwhile, and what cannot be made again take their room first.
void Rebuilding::setRoom(const OpGraph& joint, std::uint64_t budget, const Surroundings& around)
{
    std::uint64_t needed = bytesWhile(joint, m_at, false);
    const auto held = joint.reads(m_at);
    for (OpValueId id = 0; id < joint.values().size(); ++id) {
        const OpValue& value = joint.value(id);
        const bool isMade = value.producer != kNone && !value.isPinned && around.isBefore(value.producer);
        const bool isWaiting = isMade && joint.op(value.producer).phase == Phase::Gradient &&
                               std::ranges::find(held, id) == held.end() && isReadAfter(joint, id, around);
        needed += isWaiting ? value.bytes : 0;
    }
    std::uint64_t once = 0;
    for (const Item& item : m_items) {
        once += item.isWanted && !joint.op(runs(item.value)).mayRepeat() ? joint.value(item.value).bytes : 0;
    }
    m_fits = needed + once <= budget;
    m_room = m_fits ? static_cast<double>(budget - needed) : 0;
}

void Rebuilding::addItems(const OpGraph& joint, const Surroundings& around)
{
    constexpr double kUnits = 1ULL << 50;
    double cost = 0;
    const auto held = joint.reads(m_at);
    for (OpId op = 0; op < joint.size(); ++op) {
        if (joint.op(op).phase != Phase::Forward || !around.isBefore(op)) {
            continue;
        }
        m_ops.push_back(op);
        cost += joint.op(op).cost;
        for (const OpValueId output : joint.op(op).outputs) {
            if (joint.value(output).isPinned || std::ranges::find(held, output) != held.end()) {
                continue;
            }
            m_itemOfValue[output] = static_cast<std::uint32_t>(m_items.size());
            m_items.push_back({output, isReadAfter(joint, output, around)});
            m_wanted += m_items.back().isWanted ? static_cast<double>(joint.value(output).bytes) : 0;
        }
    }
    m_unit = cost > 0 ? kUnits / cost : 0;
}

// Source side: operators that run again, values that are used then. A value that is used and not made pays its bytes.
Rebuilding::Cut Rebuilding::cutAt(double price) const
{
    constexpr double kMostCapacity = 1ULL << 55;
    const auto source = static_cast<std::uint32_t>(m_joint.size() + m_joint.values().size());
    MaxFlow flow(source + std::size_t{2});
    for (const OpId op : m_ops) {
        const Op& one = m_joint.op(op);
        const auto capacity = static_cast<std::uint64_t>(one.cost * m_unit);
        flow.add(op, source + 1, one.mayRepeat() ? capacity : kInfiniteFlow);
        for (const OpValueId input : m_joint.reads(op)) {
            if (m_itemOfValue[input] != kNone) {
                flow.add(op, isUsed(input), kInfiniteFlow);
            }
        }
    }
    for (const Item& item : m_items) {
        const double paid = price * static_cast<double>(m_joint.value(item.value).bytes) * m_unit;
        flow.add(isUsed(item.value), runs(item.value), static_cast<std::uint64_t>(std::min(paid, kMostCapacity)));
        if (item.isWanted) {
            flow.add(source, isUsed(item.value), kInfiniteFlow);
        }
    }
    const double paid = m_unit > 0 ? static_cast<double>(flow.run(source, source + 1)) / m_unit : 0;
    Cut cut{0, 0, paid - price * m_room};
    for (const OpId op : m_ops) {
        cut.cost += flow.isOfSource(op) ? m_joint.op(op).cost : 0;
    }
    for (const Item& item : m_items) {
        const bool stays = flow.isOfSource(isUsed(item.value)) && !flow.isOfSource(runs(item.value));
        cut.bytes += stays ? static_cast<double>(m_joint.value(item.value).bytes) : 0;
    }
    return cut;
}

// leastAt() is the least of straight lines, one for each choice: from two of them on either side, where they meet.
Rebuilding::Dearest Rebuilding::dearest() const
{
    constexpr int kMostCuts = 12;
    if (m_wanted <= m_room || m_unit <= 0) {
        return {};
    }
    Cut more{0, m_wanted, 0}; // all stays
    Cut less = cutAt(std::numeric_limits<float>::max());
    Dearest found;
    for (int i = 0; i < kMostCuts && less.bytes < more.bytes && less.cost > more.cost; ++i) {
        const double price = (less.cost - more.cost) / (more.bytes - less.bytes);
        const Cut cut = cutAt(price);
        if (cut.least > found.cost) {
            found = {cut.least, price};
        }
        const double onLine = less.cost + price * less.bytes;
        if (cut.cost + price * cut.bytes >= onLine * (1 - 1e-9)) {
            break;
        }
        (cut.bytes > m_room ? more : less) = cut;
    }
    return found;
}

} // namespace

Bound largestOperator(const OpGraph& graph, bool countsPinned)
{
    Bound bound;
    for (OpId op = 0; op < graph.size(); ++op) {
        const std::uint64_t bytes = bytesWhile(graph, op, countsPinned);
        if (bound.at == kNone || bytes > bound.bytes) {
            bound = {bytes, op};
        }
    }
    return bound;
}

Bound memoryFloor(const OpGraph& joint)
{
    Bound bound = largestOperator(joint, false);
    const GradientReach reach(joint, kMaxFloorOps);
    for (const OpId op : reach.gradients()) {
        const std::uint64_t bytes = bytesWhile(joint, op, false) + reach.waitingBytes(op);
        if (bytes > bound.bytes) {
            bound = {bytes, op};
        }
    }
    return bound;
}

double costOfAll(const OpGraph& graph)
{
    double cost = 0;
    for (const Op& op : graph.ops()) {
        cost += op.cost;
    }
    return cost;
}

std::optional<double> costBound(const OpGraph& joint, std::uint64_t budget)
{
    constexpr std::size_t kMostPlaces = 96;
    constexpr std::size_t kLeastPlaces = 8;
    constexpr std::size_t kMostWork = 200'000; // places times operators
    constexpr std::size_t kLookedAtClosely = 3;
    std::vector<OpId> gradients;
    for (OpId op = 0; op < joint.size(); ++op) {
        if (joint.op(op).phase == Phase::Gradient) {
            gradients.push_back(op);
        }
    }
    const std::size_t places = std::clamp(kMostWork / joint.size(), kLeastPlaces, kMostPlaces);
    const std::size_t stride = gradients.size() / places + 1;
    std::vector<std::pair<double, OpId>> found;
    Rebuilding::Dearest most;
    for (std::size_t i = 0; i < gradients.size(); i += stride) {
        const Rebuilding rebuilding(joint, gradients[i], budget);
        if (!rebuilding.fits()) {
            return std::nullopt;
        }
        if (most.price == 0) {
            most = rebuilding.dearest();
        }
        found.emplace_back(most.price > 0 ? rebuilding.leastAt(most.price) : 0, gradients[i]);
    }
    std::ranges::stable_sort(found, std::greater(), &std::pair<double, OpId>::first);
    for (std::size_t i = 0; i < std::min(found.size(), kLookedAtClosely); ++i) {
        most.cost = std::max({most.cost, found[i].first, Rebuilding(joint, found[i].second, budget).dearest().cost});
    }
    return costOfAll(joint) + most.cost;
}

} // namespace retro::analysis
