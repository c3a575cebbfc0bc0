import { headerKey } from '../header-names.ts';

/**
 * Columns by which the platforms break reports down, in the languages of their exports, and the members of their APIs.
 * They tell lines of one day and one ad apart.
 */
const names = [
  // English
  'Age|Age range|Gender|Country|Country/Territory|Country/Territory (User location)|Region',
  'Region (User location)|City|City (User location)|State|Metro area|DMA region|Designated market area',
  'Postal code|Location|Location type|Platform|Publisher platform|Placement|Placement type|Platform position',
  'Device platform|Impression device|Device|Device type|Device model|Device brand|Operating system|OS',
  'OS version|Browser|Carrier|Connection type|Language|Time of day|Time of day (ad account time zone)',
  "Time of day (viewer’s time zone)|Time of day (viewer time zone)|Time of day (viewer's time zone)|Hour",
  'Hour of day|Hour of the day|By Hour|Day of week|Day of the week|Daypart|Search keyword|Keyword|Keyword ID',
  'Match type|Search keyword match type|Keyword match type|Keyword text|Search term|Search terms|Search query',
  'Search term match type|Added/Excluded|Product ID|Product|Item ID|Product item ID|Product title|Product type',
  'Brand|Category|Network|Network (with search partners)|Ad network type|Click type|Top vs. other',
  'Conversion action|Conversion action category|Conversion category|Conversion name|Conversion source',
  'Conversion type|Conversion device|Action type|Action device|Action destination|Action reaction|Asset',
  'Asset type|Image asset|Body asset|Headline asset|Video asset|Call to action asset|Audience|Audience segment',
  'Audience type|Segment|User status|Returning users|New or returning|Parental status|Household income|Interest',
  'Interest category|Topic|Distance from locations|Slot|Channel|Sub-channel|Household|Attribution window',
  'Video name|Carousel card|Delivery time|Visitor type|Job title|Job function|Company|Company name|Company size',
  'Industry|Seniority|Member country/region|Creative|Creative ID|Creative name|Pin|Pin ID|Bid match type',
  'Delivered match type|Goal|Goal name|Ad distribution|Top vs. Other|Publisher|Publisher URL',
  // German
  'Alter|Altersgruppe|Geschlecht|Land|Land/Gebiet|Region|Stadt|Bundesland|Plattform|Platzierung|Geräteplattform',
  'Impressionsgerät|Impressions-Gerät|Gerät|Gerätetyp|Betriebssystem|Tageszeit|Stunde|Uhrzeit|Wochentag',
  'Suchkeyword|Suchbegriff|Suchanfrage|Keyword-Option|Übereinstimmungstyp|Produkt-ID|Produkt|Netzwerk',
  'Werbenetzwerk|Klicktyp|Conversion-Aktion|Conversion-Kategorie|Sprache|Zielgruppe|Zielgruppensegment|Standort',
  'Filiale|Marke|Tageszeit (Zeitzone des Werbekontos)|Tageszeit (Zeitzone des Betrachters)|Nach Stunde',
  'Kategorie',
  // French
  "Âge|Tranche d'âge|Sexe|Genre|Pays|Pays/Territoire|Région|Ville|Plate-forme|Plateforme|Placement|Emplacement",
  "Plate-forme de l'appareil|Appareil d'impression|Appareil|Type d'appareil|Système d'exploitation|Heure",
  'Moment de la journée|Mot clé|Mot-clé|Mot clé du Réseau de Recherche|Terme de recherche',
  'Type de correspondance|ID de produit|Produit|Réseau|Type de clic|Action de conversion|Langue|Audience|Lieu',
  'Marque|Catégorie|Jour de la semaine|Par heure',
  // Spanish
  'Edad|Rango de edad|Sexo|Género|País|País/territorio|Región|Ciudad|Plataforma|Ubicación',
  'Plataforma del dispositivo|Dispositivo de impresión|Dispositivo|Tipo de dispositivo|Sistema operativo|Hora',
  'Hora del día|Palabra clave|Palabra clave de búsqueda|Término de búsqueda|Tipo de concordancia',
  'Identificador del producto|ID del producto|Producto|Red|Tipo de clic|Acción de conversión|Idioma|Audiencia',
  'Público|Marca|Categoría|Día de la semana|Por hora',
  // Portuguese
  'Idade|Faixa etária|Gênero|Género|País|Região|Cidade|Plataforma|Posicionamento|Plataforma do dispositivo',
  'Dispositivo de impressão|Dispositivo|Tipo de dispositivo|Hora|Hora do dia|Palavra-chave',
  'Palavra-chave de pesquisa|Termo de pesquisa|Tipo de correspondência|ID do produto|Produto|Rede',
  'Tipo de clique|Ação de conversão|Idioma|Público|Público-alvo|Marca|Categoria|Dia da semana|Por hora',
  'Localização',
  // Italian
  "Età|Fascia d'età|Genere|Sesso|Paese|Regione|Città|Piattaforma|Posizionamento|Piattaforma del dispositivo",
  'Dispositivo di impression|Dispositivo|Tipo di dispositivo|Ora|Ora del giorno|Parola chiave',
  'Termine di ricerca|Tipo di corrispondenza|ID prodotto|Prodotto|Rete|Tipo di clic|Azione di conversione',
  'Lingua|Pubblico|Marca|Categoria|Giorno della settimana|Per ora|Località',
  // Dutch
  'Leeftijd|Leeftijdscategorie|Geslacht|Land|Regio|Stad|Platform|Plaatsing|Apparaatplatform|Apparaat',
  'Apparaattype|Uur|Tijdstip|Tijd van de dag|Zoekwoord|Zoekterm|Zoektype|Product-ID|Product|Netwerk|Type klik',
  'Conversieactie|Taal|Doelgroep|Merk|Categorie|Dag van de week|Per uur|Locatie|Vertoningsapparaat',
  // Polish
  'Wiek|Przedział wiekowy|Płeć|Kraj|Region|Miasto|Platforma|Umiejscowienie|Platforma urządzenia|Urządzenie',
  'Typ urządzenia|Godzina|Pora dnia|Słowo kluczowe|Wyszukiwane hasło|Typ dopasowania|Identyfikator produktu',
  'Produkt|Sieć|Typ kliknięcia|Działanie powodujące konwersję|Język|Odbiorcy|Marka|Kategoria|Dzień tygodnia',
  // Turkish
  'Yaş|Yaş aralığı|Cinsiyet|Ülke|Bölge|Şehir|Platform|Reklam alanı|Yerleşim|Cihaz platformu|Cihaz|Cihaz türü',
  'Saat|Günün saati|Anahtar kelime|Arama terimi|Eşleme türü|Ürün kimliği|Ürün|Ağ|Tıklama türü|Dönüşüm işlemi',
  'Dil|Hedef kitle|Marka|Kategori|Haftanın günü',
  // Japanese
  '年齢|年齢層|性別|国|国/地域|国または地域|地域|都道府県|市区町村|プラットフォーム|配置|デバイスプラットフォーム|インプレッションデバイス|デバイス|デバイスタイプ|時間|時間帯|時刻|検索キーワード',
  'キーワード|検索語句|マッチタイプ|検索キーワードのマッチタイプ|商品ID|製品ID|商品|ネットワーク|クリックタイプ|コンバージョンアクション|言語|オーディエンス|ブランド|カテゴリ|曜日|時間別|OS',
  '広告ネットワーク',
  // Korean
  '연령|연령대|성별|국가|지역|도시|플랫폼|노출 위치|게재 위치|기기 플랫폼|노출 기기|기기|시간|시간대|검색 키워드|키워드|검색어|검색 유형|검색 키워드 일치 유형|제품 ID|상품 ID|제품',
  '네트워크|클릭 유형|전환 액션|언어|잠재고객|브랜드|카테고리|요일',
  // Chinese
  '年龄|年齡|年龄段|性别|性別|国家|國家|国家/地区|國家/地區|地区|地區|区域|省份|城市|平台|版位|展示位置|刊登位置|设备平台|裝置平台|展示设备|曝光裝置|设备|裝置|设备类型|小时|小時|时段|時段',
  '搜索关键字|关键字|關鍵字|关键词|搜索字词|搜尋字詞|匹配类型|比對類型|商品编号|产品编号|產品編號|商品編號|产品|產品|广告网络|聯播網|网络|点击类型|點擊類型|转化操作|轉換動作|语言|語言|受众|受眾',
  '品牌|类别|類別|按小时|操作系统|作業系統|星期',
  // Vietnamese, Indonesian, Russian, Arabic
  'Tuổi|Độ tuổi|Giới tính|Quốc gia|Khu vực|Vùng|Thành phố|Nền tảng|Vị trí quảng cáo|Thiết bị|Giờ|Từ khóa',
  'Cụm từ tìm kiếm|Usia|Umur|Rentang usia|Jenis kelamin|Negara|Wilayah|Kota|Platform|Penempatan|Perangkat|Jam',
  'Kata kunci|Istilah penelusuran|Возраст|Пол|Страна|Регион|Город|Платформа|Место размещения|Плейсмент',
  'Устройство|Платформа устройства|Час|Время суток|Ключевое слово|Поисковый запрос|Тип соответствия|Сеть',
  'Продукт|Идентификатор продукта|Язык|Аудитория|العمر|الجنس|النوع|البلد|الدولة|المنطقة|المدينة|المنصة',
  'موضع الإعلان|الموضع|الجهاز|الساعة|الكلمة الرئيسية|عبارة البحث',
  // Members of the platforms' APIs
  'age|gender|country|region|dma|city|publisher_platform|platform_position|device_platform|impression_device',
  'product_id|hourly_stats_aggregated_by_advertiser_time_zone|hourly_stats_aggregated_by_audience_time_zone',
  'place_page_id|user_segment_key|frequency_value|body_asset.id|title_asset.id|image_asset.hash|video_asset.id',
  'link_url_asset.id|description_asset.id|call_to_action_asset.id|ad_format_asset|media_asset_url',
  'coarse_conversion_value|fidelity_type|hsid|postback_sequence_index|dimensions.stat_time_hour|stat_time_hour',
  'dimensions.age|dimensions.gender|dimensions.country_code|dimensions.province_id|dimensions.platform',
  'dimensions.ac|dimensions.language|dimensions.placement|dimensions.interest_category|dimensions.dma',
];

const keys = new Set(names.flatMap((line) => line.split('|').map(headerKey)));

export function isKnownDimension(header: string): boolean {
  return keys.has(headerKey(header)) || isDimensionPath(header);
}

/** Google's and TikTok's APIs put what a report is broken down by into members of their own. */
function isDimensionPath(header: string): boolean {
  return (
    /^(segments|dimensions|adGroupCriterion|searchTermView|keywordView|ageRangeView|genderView)\./.test(
      header,
    ) && !header.endsWith('.resourceName')
  );
}
