// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/bounds.h"

#include "core/analysis/opgraph.h"

#include <algorithm>
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

/// Gradient operators at which the knapsack is solved; evenly chosen where there are more.
constexpr std::size_t kKnapsacks = 96;

std::uint64_t bytesWhile(const OpGraph& graph, OpId op, bool countsPinned)
{
    std::uint64_t bytes = graph.outputBytes(op, countsPinned) + graph.op(op).workspace;
    for (const OpValueId input : graph.reads(op)) {
        const OpValue& value = graph.value(input);
        bytes += value.isPinned && !countsPinned ? 0 : value.bytes;
    }
    return bytes;
}

/// A forward operator whose results are wanted later: keep them, or pay for them again.
struct Item
{
    std::uint64_t bytes = 0;
    double cost = 0;
    bool mustStay = false;
};

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

/// What operator `op` has to offer to those that follow; nothing when no value of it is read there.
Item itemOf(const OpGraph& joint, OpId op, std::span<const OpValueId> held, const Surroundings& around)
{
    Item item;
    item.mustStay = !joint.op(op).mayRepeat();
    item.cost = joint.op(op).cost;
    bool isWanted = false;
    for (const OpValueId output : joint.op(op).outputs) {
        const OpValue& value = joint.value(output);
        const bool isHeld = std::find(held.begin(), held.end(), output) != held.end();
        if (value.isPinned || isHeld || !isReadAfter(joint, output, around)) {
            continue; // what the gradient operator itself reads is there anyway
        }
        isWanted = true;
        item.bytes += value.bytes;
    }
    if (!isWanted) {
        item = {};
    }
    return item;
}

/// What those that must stay leave of the room; none when they do not fit.
std::optional<std::uint64_t> roomBeside(const std::vector<Item>& items, std::uint64_t room)
{
    for (const Item& item : items) {
        if (item.mustStay && item.bytes > room) {
            return std::nullopt;
        }
        room -= item.mustStay ? item.bytes : 0;
    }
    return room;
}

/// Least cost of what does not fit: whole items by falling cost per byte, the last in part. None when those that must
/// stay do not fit.
std::optional<double> leastPaid(std::vector<Item>& items, std::uint64_t room)
{
    const std::optional<std::uint64_t> left = roomBeside(items, room);
    if (!left) {
        return std::nullopt;
    }
    room = *left;
    // What has no size stays, and what costs nothing may go.
    std::erase_if(items, [](const Item& item) { return item.mustStay || item.cost <= 0 || item.bytes == 0; });
    double paid = 0;
    for (const Item& item : items) {
        paid += item.cost;
    }
    std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
        return a.cost * static_cast<double>(b.bytes) > b.cost * static_cast<double>(a.bytes);
    });
    for (const Item& item : items) {
        if (item.bytes > room) {
            paid -= item.cost * static_cast<double>(room) / static_cast<double>(item.bytes);
            break;
        }
        room -= item.bytes;
        paid -= item.cost;
    }
    return std::max(paid, 0.0);
}

std::optional<double> paidAt(const OpGraph& joint, OpId at, std::uint64_t budget)
{
    const std::uint64_t needed = bytesWhile(joint, at, false);
    if (needed > budget) {
        return std::nullopt;
    }
    const Surroundings around(joint, at);
    std::vector<Item> items;
    for (OpId op = 0; op < joint.size(); ++op) {
        if (joint.op(op).phase == Phase::Forward && around.isBefore(op)) {
            items.push_back(itemOf(joint, op, joint.reads(at), around));
        }
    }
    return leastPaid(items, budget - needed);
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
    std::vector<OpId> gradients;
    for (OpId op = 0; op < joint.size(); ++op) {
        if (joint.op(op).phase == Phase::Gradient) {
            gradients.push_back(op);
        }
    }
    const std::size_t stride = gradients.size() / kKnapsacks + 1;
    double most = 0;
    for (std::size_t i = 0; i < gradients.size(); i += stride) {
        const std::optional<double> paid = paidAt(joint, gradients[i], budget);
        if (!paid) {
            return std::nullopt;
        }
        most = std::max(most, *paid);
    }
    return costOfAll(joint) + most;
}

} // namespace retro::analysis
