// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/lutdetail.h"
#include "views/common/paint/colorbar.h"
#include "views/common/view.h"
#include "views/common/widgets/drawnpane.h"

#include <QImage>

namespace retro::views
{

class ElidedLabel;
class LutChoice;

/// Relevance of each pair of positions as a triangle of cells; of a layer without positions, of each table as a bar.
class PairMapPane final : public DrawnPane
{
    Q_OBJECT

public:
    explicit PairMapPane(QWidget* parent = nullptr);

    void setDetail(std::shared_ptr<const trace::LutDetail> detail);
    void setSite(const trace::TableSite& site);
    [[nodiscard]] const std::shared_ptr<const trace::LutDetail>& detail() const { return m_detail; }

    /// The cell (or bar) under a point, as a site; the present one where there is none.
    [[nodiscard]] trace::TableSite siteAt(const QPointF& point) const;
    /// The room of the cell, or bar, of a site.
    [[nodiscard]] QRectF rectOf(const trace::TableSite& site) const;
    /// "21 looks at 9: +0.209, 6.9 % of all amounts; 496 pairs sum to +3.021", or the same of a table.
    [[nodiscard]] QString sentence() const;

signals:
    void siteChosen(const retro::trace::TableSite& site);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    [[nodiscard]] bool hasRelevance() const { return m_detail != nullptr && m_detail->relevance.has_value(); }
    [[nodiscard]] bool isSequence() const { return m_detail->shape.isSequence; }
    [[nodiscard]] double valueAt(const trace::TableSite& site) const;
    [[nodiscard]] double cellSide() const;
    [[nodiscard]] ColorBarSpec bar() const;
    void measure();
    void drawCells();
    void paintPairs(QPainter& painter) const;
    void paintTables(QPainter& painter) const;
    void paintMark(QPainter& painter) const;

    std::shared_ptr<const trace::LutDetail> m_detail;
    trace::TableSite m_site;
    double m_largest = 0; ///< amount
    double m_sum = 0;     ///< over all pairs, or tables
    double m_amount = 0;  ///< the same without signs
    QImage m_cells;       ///< a pixel for each pair
};

/// Where the relevance of a LUT layer's output came from: from which pairs of positions, or from which tables.
class PairMapView final : public View
{
    Q_OBJECT

public:
    PairMapView(RunModel& model, Cursor& cursor, Selection& selection, LutChoice& choice, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Pair map"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;

    [[nodiscard]] PairMapPane& pane() const { return *m_pane; }
    [[nodiscard]] QString message() const;

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    LutChoice& m_choice;
    PairMapPane* m_pane = nullptr;
    ElidedLabel* m_message = nullptr;
};

} // namespace retro::views
