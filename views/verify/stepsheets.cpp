// SPDX-License-Identifier: Apache-2.0
#include "views/verify/stepsheets.h"

#include "core/event/partevent.h"
#include "core/trace/nodesteps.h"
#include "views/common/numbertext.h"
#include "views/verify/verificationtranslation.h"

#include <algorithm>
#include <map>

namespace retro::views
{

namespace
{

/// What lands in one in-edge of a node.
struct Part
{
    std::uint64_t step = 0;
    base::NodeId from;
    base::HandleId handle;
    base::PromiseId promise;
    bool isJoined = false; ///< first added to the part before it
};

/// Parts as they are added: those that are joined first, then their sum to the rest. Unknown from the first part on
/// that is.
struct Adding
{
    std::optional<double> before = 0.0;
    std::optional<double> group = 0.0;

    void add(const std::optional<double>& part, bool isJoined)
    {
        before = isJoined ? before : total();
        group = isJoined ? plus(group, part) : part;
    }
    [[nodiscard]] std::optional<double> total() const { return plus(before, group); }
    static std::optional<double> plus(const std::optional<double>& a, const std::optional<double>& b)
    {
        return a && b ? std::optional(*a + *b) : std::nullopt;
    }
};

/// By in-edge; a part that a promise stood for gives way to its tensor.
std::map<std::uint32_t, Part> partsOf(const RunModel& model, base::NodeId node)
{
    std::map<std::uint32_t, Part> parts;
    for (const std::uint64_t step : model.derived<trace::NodeSteps>()->landings(node)) {
        const trace::Event& e = model.run().events[step];
        const bool isPromise = e.promise != base::PromiseId::kInvalid;
        parts[e.slot] = {step, base::NodeId(e.other), isPromise ? base::HandleId() : base::HandleId(e.handle),
                         isPromise ? base::PromiseId(e.promise) : base::PromiseId(), event::isJoined(e)};
    }
    return parts;
}

std::optional<double> sumOf(const RunModel& model, base::HandleId handle)
{
    const bool isThere = handle.isValid() && handle.index() < model.run().handles.size();
    return isThere ? std::optional(model.run().handles[handle.index()].sum) : std::nullopt;
}

QString nameOf(const RunModel& model, base::NodeId node)
{
    const bool isThere = node.isValid() && node.index() < model.graph().runNodeCount();
    return isThere ? model.label(node) : verificationText("the start");
}

QString figure(const std::optional<double>& number) { return number ? valueText(*number) : QStringLiteral("–"); }

/// `isOpen`: the next part is joined with it first, so there is no sum so far.
FactRow partRow(const RunModel& model, std::uint32_t slot, const Part& part, Adding& adding, bool isOpen)
{
    const bool hasLanded = part.step < model.position();
    const std::optional<double> sum = hasLanded ? sumOf(model, part.handle) : std::nullopt;
    adding.add(sum, part.isJoined);
    QString from = nameOf(model, part.from);
    if (part.isJoined) {
        from += verificationText(", first added to place %1").arg(slot);
    }
    QString when = verificationText("visit %1").arg(countText(std::int64_t{model.run().visitOf(part.step)} + 1));
    if (part.promise.isValid()) {
        when += verificationText(", as promise P%1").arg(part.promise.index());
    }
    FactRow row;
    row.cells = {QString::number(slot + 1), from, hasLanded ? when : verificationText("comes at %1").arg(when),
                 figure(sum), isOpen ? QString() : figure(adding.total())};
    row.role = hasLanded ? Role::Text : Role::Text3;
    row.node = part.from.index() < model.graph().runNodeCount() ? part.from : base::NodeId();
    row.position = part.step + 1;
    return row;
}

/// The last step of a node: a node with several results has one per result before its own.
std::size_t stepOf(const std::vector<ReverseStep>& course, base::NodeId node)
{
    const auto at = std::find_if(course.rbegin(), course.rend(),
                                 [&](const ReverseStep& one) { return node.isValid() && one.node == node; });
    return at == course.rend() ? course.size() : static_cast<std::size_t>(course.rend() - at) - 1;
}

FactRow slotRow(const ReverseSlot& slot)
{
    FactRow row;
    row.cells = {slot.isEqual ? verificationText("✓  equal") : verificationText("✕  part here"), slot.value,
                 valueText(slot.loop, 9), valueText(slot.recursion, 9)};
    row.role = slot.isEqual ? Role::Text : Role::AlarmText;
    row.node = slot.node;
    row.isStrong = !slot.isEqual;
    return row;
}

} // namespace

FactSheet additionSheet(const RunModel& model, base::NodeId node)
{
    FactSheet sheet;
    sheet.columns = {{verificationText("Place"), 48, true},
                     {verificationText("Part of"), 0},
                     {verificationText("Landed"), 170},
                     {verificationText("Σ of the part"), 96, true},
                     {verificationText("Σ so far"), 96, true}};
    if (!node.isValid() || node.index() >= model.graph().runNodeCount()) {
        sheet.empty =
            verificationText("Select a node or an input: its parts appear here in the order in which they are added.");
        return sheet;
    }
    Adding adding;
    std::size_t landed = 0;
    const std::map<std::uint32_t, Part> parts = partsOf(model, node);
    for (auto at = parts.begin(); at != parts.end(); ++at) {
        const auto next = std::next(at);
        sheet.rows.push_back(
            partRow(model, at->first, at->second, adding, next != parts.end() && next->second.isJoined));
        landed += at->second.step < model.position() ? 1 : 0;
    }
    const std::optional<double> soFar = adding.total();
    if (sheet.rows.empty()) {
        sheet.empty = verificationText("Nothing lands at %1 in this run.").arg(model.placeLabel(node));
        return sheet;
    }
    sheet.message =
        verificationText("%1: %2 of %3 parts have landed").arg(model.label(node)).arg(landed).arg(sheet.rows.size());
    const trace::NodeState& state = model.state().nodes[node.index()];
    const bool isOne = state.relevance.size() == 1;
    if (const auto known = isOne ? sumOf(model, state.relevance.front()) : std::nullopt) {
        sheet.message += verificationText("; known in full, Σ = %1").arg(valueText(*known));
        if (soFar) {
            sheet.message += verificationText(", rounding %1").arg(valueText(*known - *soFar, 2));
        }
    }
    return sheet;
}

FactSheet recursionSheet(const RunModel& model, const VerificationPointer& verification)
{
    FactSheet sheet;
    sheet.columns = {{verificationText("Both are"), 112},
                     {verificationText("Slot of"), 0},
                     {verificationText("Σ in the loop"), 140, true},
                     {verificationText("Σ in the recursion"), 140, true}};
    if (!verification || verification->course.empty()) {
        sheet.empty =
            verificationText("The recursion was not run: it is quadratic, and runs on tapes of up to 2,000 cells.");
        return sheet;
    }
    const std::vector<ReverseStep>& course = verification->course;
    const base::NodeId node = model.state().current;
    const std::size_t step = stepOf(course, node);
    if (step == course.size()) {
        sheet.empty = node.isValid()
                          ? verificationText("No reverse rule of the tape runs at %1. Step on.").arg(model.label(node))
                          : verificationText("Nothing has happened yet. Step on.");
        return sheet;
    }
    for (const ReverseSlot& slot : course[step].slotsAfter) {
        sheet.rows.push_back(slotRow(slot));
    }
    const auto end = course.begin() + static_cast<std::ptrdiff_t>(step) + 1;
    const auto parted = std::find_if(course.begin(), end, [](const ReverseStep& one) { return !one.isEqual(); });
    const QString where =
        verificationText("Step %1 of %2, after %3").arg(step + 1).arg(course.size()).arg(model.label(node));
    const bool isEqual = parted == end;
    sheet.role = isEqual ? Role::Text2 : Role::AlarmText;
    sheet.message = isEqual
                        ? verificationText("%1: loop and recursion are equal up to here, bit for bit").arg(where)
                        : verificationText("%1: they parted at step %2").arg(where).arg(parted - course.begin() + 1);
    if (sheet.rows.empty()) {
        sheet.empty = verificationText("%1. Its rule adds to no slot.").arg(where);
    }
    return sheet;
}

} // namespace retro::views
