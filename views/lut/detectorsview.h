// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/lutdetail.h"
#include "views/common/view.h"

class QSpinBox;

namespace retro::views
{

class ElidedLabel;
class LutChoice;

/// The comparisons of one table for one sample, the row that they chose, and its runner-up.
class DetectorsPane final : public QWidget
{
    Q_OBJECT

public:
    explicit DetectorsPane(QWidget* parent = nullptr);

    void setChoice(trace::TableChoice choice);
    [[nodiscard]] const trace::TableChoice& choice() const { return m_choice; }
    [[nodiscard]] QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    void paintHeader(QPainter& painter) const;
    void paintRow(QPainter& painter, std::size_t index) const;
    void paintFigures(QPainter& painter, const trace::ComparisonRow& row, double top) const;
    void paintBar(QPainter& painter, const trace::ComparisonRow& row, const QRectF& cell) const;
    double paintResult(QPainter& painter, double top) const;
    void paintWeights(QPainter& painter, const QString& name, const QString& share, const std::vector<double>& weights,
                      double top) const;
    [[nodiscard]] QRectF cell(int column, double top) const;
    [[nodiscard]] QString rowBits(std::uint32_t row) const;

    trace::TableChoice m_choice;
    double m_largest = 1;       ///< difference
    double m_largestWeight = 1; ///< of both rows
};

/// One table of a LUT layer: its comparisons with their anchors, the row that they chose and its runner-up.
class DetectorsView final : public View
{
    Q_OBJECT

public:
    DetectorsView(RunModel& model, Cursor& cursor, Selection& selection, LutChoice& choice, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Table"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override
    {
        return tr("Comparisons choose a row; the weakest names the runner-up.");
    }
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;

    [[nodiscard]] DetectorsPane& pane() const { return *m_pane; }
    /// "working …", what is wrong, or empty.
    [[nodiscard]] QString message() const;
    [[nodiscard]] QSpinBox& table() const { return *m_table; }

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    QWidget* makeTools();
    QSpinBox* addField(const QString& name, const QString& tip, QWidget* line);
    void takeFields();
    void showSite();
    void showChoice();

    LutChoice& m_choice;
    DetectorsPane* m_pane = nullptr;
    ElidedLabel* m_message = nullptr;
    QSpinBox* m_sample = nullptr;
    QSpinBox* m_table = nullptr;
    QSpinBox* m_later = nullptr;
    QSpinBox* m_earlier = nullptr;
};

} // namespace retro::views
