// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/run/regionfacts.h"
#include "views/common/view.h"
#include "views/heatmap/heatmapsource.h"
#include "views/heatmap/stepschart.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QSlider;

namespace retro::views
{

class ArrivedRow;
class ControlRow;
class ElidedLabel;
class HeatmapCanvas;
class OtherRun;

/// A map of an input by another method than relevance.
struct InputMap
{
    QString method;        ///< as mapWanted() asked for it
    QString input;         ///< its name
    tensor::Tensor values; ///< in the input's shape; invalid = there is none, `words` say why
    QString words;         ///< what it is of
};

/// The relevance of the selected value at the cursor as a heatmap over the input picture; with nothing selected, of the
/// layer that arrived last.
class HeatmapView final : public View
{
    Q_OBJECT

public:
    HeatmapView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);
    ~HeatmapView() override;

    [[nodiscard]] QString title() const override;
    [[nodiscard]] QString subject() const override { return m_content.place; }
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;
    /// The relevance as grey levels of 16 bits (views::writeLevels). Errors: Usage (ending, nothing to show), Output.
    [[nodiscard]] base::Result<void> exportLevels(const std::filesystem::path& path);
    [[nodiscard]] QByteArray saveState() const override;
    void restoreState(const QByteArray& state) override;

    [[nodiscard]] const HeatmapContent& content() const { return m_content; }
    [[nodiscard]] const HeatmapSettings& settings() const { return m_settings; }
    void setSettings(const HeatmapSettings& settings);
    /// With nothing selected it is of the node at the cursor, and shows the parts that have landed before all are
    /// there.
    void setGrowing(bool isGrowing);
    /// Wipes the heatmap against another run, at its end; `name` says which it is. Without one there is no line.
    void setOther(RunHandle run, InputInfo input, const QString& name);
    void clearOther();
    /// Wipes what comes against the run on screen.
    void holdThisRun();
    /// Why the other run cannot be shown here; empty = it is, or there is none.
    [[nodiscard]] const QString& otherProblem() const { return m_otherProblem; }
    /// A run is held or was read to be wiped against.
    [[nodiscard]] bool hasOther() const { return m_other != nullptr; }
    /// That run; null = there is none.
    [[nodiscard]] std::shared_ptr<const trace::Run> otherRun() const;
    /// Shows what mapWanted() asked for in place of relevance; a map of another method is let go.
    void setInputMap(InputMap map);
    /// Back to relevance, whose run was replaced, or where there is no model to ask.
    void clearInputMap();
    /// What is shown: "gradcam"; empty = relevance.
    [[nodiscard]] QString method() const;
    /// Dragging marks a region of the input.
    void setMarking(bool isOn);
    /// What is shown of a marked region beside the relevance itself; `overlay` must outlive the view.
    void followRegion(const RegionOverlay& overlay);
    /// Words of the steps, names of features; empty = they have numbers.
    [[nodiscard]] const QStringList& stepWords() const { return model().input().words; }

signals:
    /// A pixel, word or step was clicked: a place in a value, −1 = all along the axis.
    void elementPicked(retro::base::ValueId value, const std::vector<std::int64_t>& index);
    /// Pixels, words or steps of an input were marked: a mask in its shape, and the marks in words.
    void regionMarked(retro::base::ValueId input, const retro::tensor::Tensor& mask, const QString& words);
    /// The person wants to choose the file of another run.
    void otherRunWanted();
    /// The person wants to see the input by a method of engine::makeAttribution().
    void mapWanted(const QString& method);

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override { return m_content.reason; }

private:
    QWidget* makeControls(QWidget* parent);
    QWidget* makeStops(QWidget* parent);
    QWidget* makeRegionRow(QWidget* parent);
    QWidget* makeKindRow(QWidget* parent);
    void showKindRow();
    void showOutlines();
    void showLinkChoices();
    [[nodiscard]] StepsChart chartOf(const HeatmapFigure& figure) const;
    [[nodiscard]] std::string csv() const;
    void showRegionRow();
    void chooseMap();
    void readMap();
    void readControls();
    void showControls();
    void chooseOther();
    void showOther();
    [[nodiscard]] HeatmapFigure figureOf() const;
    /// What is shown of the run as it is now; nothing without a run.
    void redraw();
    void drawContent();
    void showProbe(QPoint value);
    void takePick(QPoint value);
    void takeMarks();
    void showRegion();
    void showMarks();
    /// What the content shows of the region, in place of relevance.
    void applyQuantity();
    /// What is to be seen at the cursor.
    void takeContent();
    void makeMethods(ControlRow& row);
    [[nodiscard]] bool showsMap() const { return !m_inputMap.method.isEmpty() && m_inputMap.values.isValid(); }

    HeatmapSettings m_settings;
    HeatmapContent m_content;
    /// What arrived, in figures, below a picture that grows.
    void showArrived();

    bool m_isGrowing = false;
    ArrivedRow* m_arrived = nullptr;
    QString m_modelName; ///< whose scale is kept
    HeatmapCanvas* m_canvas = nullptr;
    QComboBox* m_mode = nullptr;
    QComboBox* m_map = nullptr;
    QComboBox* m_clip = nullptr;
    QLineEdit* m_stops = nullptr; ///< colour stops of an own map
    QWidget* m_stopsRow = nullptr;
    QComboBox* m_gamma = nullptr;
    QComboBox* m_against = nullptr; ///< the other run
    QComboBox* m_method = nullptr;
    InputMap m_inputMap; ///< without a method: relevance is shown
    QWidget* m_regionRow = nullptr;
    QComboBox* m_quantity = nullptr;         ///< of a region
    QComboBox* m_tool = nullptr;             ///< box or brush
    const RegionOverlay* m_region = nullptr; ///< borrowed
    QWidget* m_kindRow = nullptr;
    QLabel* m_sliceName = nullptr;
    QSlider* m_slice = nullptr;   ///< of a volume: 0 = all slices
    QComboBox* m_links = nullptr; ///< attentions and their heads
    std::vector<AttentionPlace> m_attentions;
    QSize m_planeSize; ///< of the figure on screen
    std::unique_ptr<OtherRun> m_other;
    QString m_otherProblem;
    double m_wipe = 0.5; ///< place of the line
    QCheckBox* m_smooth = nullptr;
    QCheckBox* m_keep = nullptr;
    ElidedLabel* m_probe = nullptr;
};

} // namespace retro::views
