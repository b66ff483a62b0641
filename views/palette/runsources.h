// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/viewcontext.h"
#include "views/palette/paletteitem.h"

namespace retro::views
{

/// What a source needs of the window.
struct PaletteContext
{
    RunModel& model;
    Cursor& cursor;
    Selection& selection;
};

/// Layers (nodes and inputs) by name: selects one, or also goes to the step at which its relevance is known.
class NodeSource final : public PaletteSource
{
public:
    explicit NodeSource(const PaletteContext& context) : m_context(context) {}
    [[nodiscard]] QChar sign() const override { return u'@'; }
    [[nodiscard]] QString name() const override;
    [[nodiscard]] bool answersAll() const override { return true; }
    [[nodiscard]] std::vector<PaletteItem> find(const QString& pattern, std::size_t limit) override;

private:
    [[nodiscard]] PaletteItem itemOf(base::NodeId node, const QString& pattern, int score) const;
    PaletteContext m_context;
};

/// Steps: a number is a visit or an event, words are looked for in the names of the nodes visited. Goes there.
class VisitSource final : public PaletteSource
{
public:
    explicit VisitSource(const PaletteContext& context) : m_context(context) {}
    [[nodiscard]] QChar sign() const override { return u'#'; }
    [[nodiscard]] QString name() const override;
    [[nodiscard]] std::vector<PaletteItem> find(const QString& pattern, std::size_t limit) override;

private:
    [[nodiscard]] std::vector<PaletteItem> findNumber(std::uint64_t number) const;
    [[nodiscard]] std::vector<PaletteItem> findName(const QString& pattern, std::size_t limit) const;
    [[nodiscard]] std::vector<PaletteItem> following(std::size_t limit) const;
    [[nodiscard]] PaletteItem itemOf(std::uint32_t visit) const;
    [[nodiscard]] PaletteItem eventItem(std::uint64_t event) const;
    PaletteContext m_context;
};

/// Promises of the whole run: selects one; also goes to its opening when it is not there yet or when asked.
class PromiseSource final : public PaletteSource
{
public:
    explicit PromiseSource(const PaletteContext& context) : m_context(context) {}
    [[nodiscard]] QChar sign() const override { return u'!'; }
    [[nodiscard]] QString name() const override;
    [[nodiscard]] std::vector<PaletteItem> find(const QString& pattern, std::size_t limit) override;

private:
    PaletteContext m_context;
};

} // namespace retro::views
