// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/run/regionfacts.h"
#include "views/common/view.h"

#include <QList>

class QAction;
class QComboBox;
class QHBoxLayout;
class QLabel;
class QTableView;
class QToolButton;

namespace retro::views
{

class ChannelStrip;
class RegionValuesModel;

/// A region of the input, asked: how much of every value's relevance ends there, which channels put it there, and the
/// other way round, the map that only the relevance of chosen channels makes. The view says what is wanted; the window
/// asks.
class RegionView final : public View
{
    Q_OBJECT

public:
    RegionView(RunModel& model, Cursor& cursor, Selection& selection, RegionOverlay& overlay,
               QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Ask a region"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] bool canBeWritten() const override { return region() != nullptr; }
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;

    /// Buttons of the actions that mark a region, at the left end of the row.
    void addButtons(const QList<QAction*>& actions);
    /// Something is being asked, in words; empty = no longer.
    void setAsking(const QString& words);
    /// The conditions that the run on screen was asked with.
    void setConditions(const QStringList& conditions);
    /// Why there is no answer; empty = there is one.
    void setRefusal(const QString& why);
    /// The map of the input that the relevance of one channel makes, as mapsWanted() asked.
    void setMap(base::ValueId value, std::size_t axis, std::int64_t index, Plane map);

    [[nodiscard]] base::ValueId shownValue() const { return m_value; }
    [[nodiscard]] std::size_t shownAxis() const;
    void showValue(base::ValueId value);
    [[nodiscard]] ChannelStrip& strip() const { return *m_strip; }
    /// The condition that the chosen channels stand for: VALUE:axis=1:3,7; empty when none is chosen.
    [[nodiscard]] QString condition() const;
    /// The sentence above the values.
    [[nodiscard]] QString sentence() const;

signals:
    /// Only relevance that passes these conditions is to be run, "only" or "beside"; empty = all of it.
    void conditionsWanted(const QStringList& conditions, const QString& form);
    /// The conditional maps of these channels are to be made.
    void mapsWanted(retro::base::ValueId value, std::size_t axis, const std::vector<std::int64_t>& indices);

protected:
    void refresh(Changes changes) override;

private:
    QWidget* makeTop(QWidget* parent);
    QWidget* makeValues(QWidget* parent);
    [[nodiscard]] std::string csv(const RegionFacts& shown) const;
    QWidget* makeChannels(QWidget* parent);
    [[nodiscard]] RegionPointer region() const;
    void takeRegion();
    void fillValues();
    [[nodiscard]] base::ValueId firstWithMaps() const;
    void markRow();
    void showChannels();
    void showButtons();
    void askConditions(bool isAdded);
    [[nodiscard]] QString wordOfAxis(std::size_t axis) const;

    RegionOverlay& m_overlay;
    base::ValueId m_value;
    QString m_asking;
    QString m_refusal;
    QStringList m_conditions; ///< of the run on screen, as asked here
    QLabel* m_sentence = nullptr;
    QHBoxLayout* m_buttons = nullptr;
    QWidget* m_answer = nullptr;
    RegionValuesModel* m_items = nullptr;
    QTableView* m_values = nullptr;
    bool m_isFilling = false; ///< the current row follows the value, and not the other way round
    QLabel* m_caption = nullptr;
    QComboBox* m_axis = nullptr;
    ChannelStrip* m_strip = nullptr;
    QToolButton* m_only = nullptr;
    QToolButton* m_also = nullptr;
    QToolButton* m_all = nullptr;
    QToolButton* m_maps = nullptr;
    QComboBox* m_form = nullptr;
};

} // namespace retro::views
