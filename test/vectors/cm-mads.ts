/**
 * Every distinct connection management MAD of the two captures of real rdma_rxe hosts.
 *
 * `mad` is the 256 bytes as hex, zeros at the end left out; `tshark` is what Wireshark 4.0.17 prints for it:
 * field=value, the leading "infiniband." left out. Wireshark does not dissect the inside of SIDR_REQ and SIDR_REP, and
 * reads flow label and packet rate of a REQ's path from wrong bytes (packets/cm/path.ts).
 */
export interface CmVector {
  readonly capture: string;
  readonly frame: number;
  readonly mad: string;
  readonly tshark: string;
}

export const CM_VECTORS: readonly CmVector[] = [
  {
    capture: 'rxe-6.1',
    frame: 17,
    mad: '01070203000000000000000263b446ae0010000000000000ae46b463000000000000000001061c06505400fffe00000200000000000000000000110100000001000000a0f2a5f8a7ffff37f0ffffffff00000000000000000000ffff0a4d000200000000000000000000ffff0a4d000151f5f0000040009800000000000000000000000000000000000000000000000000000000000000000000000000000000000000000040ad870000000000000000000000000a4d00020000000000000000000000000a4d0001',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x0000000263b446ae mad.attributeid=0x0010 mad.attributemodifier=0x00000000 cm.req=0xae46b463 cm.req.serviceid=0x0000000001061c06 cm.req.localcaguid=0x505400fffe000002 cm.req.localqkey=0x00000000 cm.req.localqpn=0x000011 cm.req.responderres=0x01 cm.req.localeecn=0x000000 cm.req.initdepth=0x01 cm.req.remoteeecn=0x000000 cm.req.remoteresptout=0x14 cm.req.transpsvctype=0x00 cm.req.e2eflowctrl=0x00 cm.req.startpsn=0xf2a5f8 cm.req.localresptout=0x14 cm.req.retrcount=0x07 cm.req.pkey=0xffff cm.req.pppmtu=0x03 cm.req.rdcexist=0x00 cm.req.rnrretrcount=0x07 cm.req.maxcmretr=0x0f cm.req.srq=0x00 cm.req.ext_transport=0x00 cm.req.prim_locallid=65535 cm.req.prim_remotelid=65535 cm.req.prim_localgid_ipv4=10.77.0.2 cm.req.prim_remotegid_ipv4=10.77.0.1 cm.req.prim_flowlabel=0x0000051f cm.req.prim_pktrate=0x00000011 cm.req.prim_tfcclass=0x00 cm.req.prim_hoplim=0x40 cm.req.prim_sl=0x00 cm.req.prim_subnetlocal=0x00 cm.req.prim_localacktout=0x13 cm.req.alt_locallid=0 cm.req.alt_remotelid=0 cm.req.alt_localgid=00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00 cm.req.alt_remotegid=00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00 cm.req.alt_flowlabel=0x00000000 cm.req.alt_pktrate=0x00000000 cm.req.alt_tfcclass=0x00 cm.req.alt_hoplim=0x00 cm.req.alt_sl=0x00 cm.req.alt_subnetlocal=0x00 cm.req.alt_localacktout=0x00 cm.req.ip_cm.majv=0x00 cm.req.ip_cm.minv=0x00 cm.req.ip_cm.ipv=0x04 cm.req.ip_cm.sport=0xad87 cm.req.ip_cm.sip4=10.77.0.2 cm.req.ip_cm.dip4=10.77.0.1',
  },
  {
    capture: 'rxe-6.1',
    frame: 18,
    mad: '01070203000000000000000263b446ae00130000000000002351d992ae46b463000000000000110000000000d4622b00010178e0505400fffe000001',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x0000000263b446ae mad.attributeid=0x0013 mad.attributemodifier=0x00000000 cm.rep=0x2351d992 cm.rep.remotecommid=0xae46b463 cm.rep.localqkey=0x00000000 cm.rep.localqpn=0x000011 cm.rep.localeecn=0x000000 cm.rep.startpsn=0xd4622b cm.rep.respres=0x01 cm.rep.initdepth=0x01 cm.rep.tgtackdelay=0x0f cm.rep.failoveracc=0x00 cm.rep.e2eflowctrl=0x00 cm.rep.rnrretrcount=0x07 cm.rep.srq=0x00 cm.rep.localcaguid=0x505400fffe000001',
  },
  {
    capture: 'rxe-6.1',
    frame: 19,
    mad: '01070203000000000000000263b446ae0014000000000000ae46b4632351d992',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x0000000263b446ae mad.attributeid=0x0014 mad.attributemodifier=0x00000000 cm.rtu.localcommid=0xae46b463 cm.rtu.remotecommid=0x2351d992',
  },
  {
    capture: 'rxe-6.1',
    frame: 100,
    mad: '01070203000000000000000263b446ae0015000000000000ae46b4632351d992000011',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x0000000263b446ae mad.attributeid=0x0015 mad.attributemodifier=0x00000000 cm.dreq.localcommid=0xae46b463 cm.dreq.remotecommid=0x2351d992 cm.req.remoteqpneecn=0x000011',
  },
  {
    capture: 'rxe-6.1',
    frame: 101,
    mad: '01070203000000000000000263b446ae00160000000000002351d992ae46b463',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x0000000263b446ae mad.attributeid=0x0016 mad.attributemodifier=0x00000000 cm.drsp.localcommid=0x2351d992 cm.drsp.remotecommid=0xae46b463',
  },
  {
    capture: 'rxe-6.1',
    frame: 104,
    mad: '01070203000000000000000263b446af0010000000000000af46b463000000000000000001061d2f505400fffe00000200000000000000000000120100000001000000a08cd9cfa5ffff30f0ffffffff00000000000000000000ffff0a4d000200000000000000000000ffff0a4d0001bfc070000040009800000000000000000000000000000000000000000000000000000000000000000000000000000000000000000040e6280000000000000000000000000a4d00020000000000000000000000000a4d0001',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x0000000263b446af mad.attributeid=0x0010 mad.attributemodifier=0x00000000 cm.req=0xaf46b463 cm.req.serviceid=0x0000000001061d2f cm.req.localcaguid=0x505400fffe000002 cm.req.localqkey=0x00000000 cm.req.localqpn=0x000012 cm.req.responderres=0x01 cm.req.localeecn=0x000000 cm.req.initdepth=0x01 cm.req.remoteeecn=0x000000 cm.req.remoteresptout=0x14 cm.req.transpsvctype=0x00 cm.req.e2eflowctrl=0x00 cm.req.startpsn=0x8cd9cf cm.req.localresptout=0x14 cm.req.retrcount=0x05 cm.req.pkey=0xffff cm.req.pppmtu=0x03 cm.req.rdcexist=0x00 cm.req.rnrretrcount=0x00 cm.req.maxcmretr=0x0f cm.req.srq=0x00 cm.req.ext_transport=0x00 cm.req.prim_locallid=65535 cm.req.prim_remotelid=65535 cm.req.prim_localgid_ipv4=10.77.0.2 cm.req.prim_remotegid_ipv4=10.77.0.1 cm.req.prim_flowlabel=0x00000bfc cm.req.prim_pktrate=0x0000003f cm.req.prim_tfcclass=0x00 cm.req.prim_hoplim=0x40 cm.req.prim_sl=0x00 cm.req.prim_subnetlocal=0x00 cm.req.prim_localacktout=0x13 cm.req.alt_locallid=0 cm.req.alt_remotelid=0 cm.req.alt_localgid=00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00 cm.req.alt_remotegid=00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00 cm.req.alt_flowlabel=0x00000000 cm.req.alt_pktrate=0x00000000 cm.req.alt_tfcclass=0x00 cm.req.alt_hoplim=0x00 cm.req.alt_sl=0x00 cm.req.alt_subnetlocal=0x00 cm.req.alt_localacktout=0x00 cm.req.ip_cm.majv=0x00 cm.req.ip_cm.minv=0x00 cm.req.ip_cm.ipv=0x04 cm.req.ip_cm.sport=0xe628 cm.req.ip_cm.sip4=10.77.0.2 cm.req.ip_cm.dip4=10.77.0.1',
  },
  {
    capture: 'rxe-6.1',
    frame: 105,
    mad: '01070203000000000000000263b446ac0010000000000000ac46b463000000000000000001061d2f505400fffe00000200000000000000000000130100000001000000a074584ca5ffff30f0ffffffff00000000000000000000ffff0a4d000200000000000000000000ffff0a4d00018462b0000040009800000000000000000000000000000000000000000000000000000000000000000000000000000000000000000040c7840000000000000000000000000a4d00020000000000000000000000000a4d0001',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x0000000263b446ac mad.attributeid=0x0010 mad.attributemodifier=0x00000000 cm.req=0xac46b463 cm.req.serviceid=0x0000000001061d2f cm.req.localcaguid=0x505400fffe000002 cm.req.localqkey=0x00000000 cm.req.localqpn=0x000013 cm.req.responderres=0x01 cm.req.localeecn=0x000000 cm.req.initdepth=0x01 cm.req.remoteeecn=0x000000 cm.req.remoteresptout=0x14 cm.req.transpsvctype=0x00 cm.req.e2eflowctrl=0x00 cm.req.startpsn=0x74584c cm.req.localresptout=0x14 cm.req.retrcount=0x05 cm.req.pkey=0xffff cm.req.pppmtu=0x03 cm.req.rdcexist=0x00 cm.req.rnrretrcount=0x00 cm.req.maxcmretr=0x0f cm.req.srq=0x00 cm.req.ext_transport=0x00 cm.req.prim_locallid=65535 cm.req.prim_remotelid=65535 cm.req.prim_localgid_ipv4=10.77.0.2 cm.req.prim_remotegid_ipv4=10.77.0.1 cm.req.prim_flowlabel=0x00000846 cm.req.prim_pktrate=0x00000004 cm.req.prim_tfcclass=0x00 cm.req.prim_hoplim=0x40 cm.req.prim_sl=0x00 cm.req.prim_subnetlocal=0x00 cm.req.prim_localacktout=0x13 cm.req.alt_locallid=0 cm.req.alt_remotelid=0 cm.req.alt_localgid=00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00 cm.req.alt_remotegid=00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00 cm.req.alt_flowlabel=0x00000000 cm.req.alt_pktrate=0x00000000 cm.req.alt_tfcclass=0x00 cm.req.alt_hoplim=0x00 cm.req.alt_sl=0x00 cm.req.alt_subnetlocal=0x00 cm.req.alt_localacktout=0x00 cm.req.ip_cm.majv=0x00 cm.req.ip_cm.minv=0x00 cm.req.ip_cm.ipv=0x04 cm.req.ip_cm.sport=0xc784 cm.req.ip_cm.sip4=10.77.0.2 cm.req.ip_cm.dip4=10.77.0.1',
  },
  {
    capture: 'rxe-6.1',
    frame: 106,
    mad: '01070203000000000000000263b446af00130000000000002151d992af46b46300000000000012000000000055290200010178e0505400fffe000001',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x0000000263b446af mad.attributeid=0x0013 mad.attributemodifier=0x00000000 cm.rep=0x2151d992 cm.rep.remotecommid=0xaf46b463 cm.rep.localqkey=0x00000000 cm.rep.localqpn=0x000012 cm.rep.localeecn=0x000000 cm.rep.startpsn=0x552902 cm.rep.respres=0x01 cm.rep.initdepth=0x01 cm.rep.tgtackdelay=0x0f cm.rep.failoveracc=0x00 cm.rep.e2eflowctrl=0x00 cm.rep.rnrretrcount=0x07 cm.rep.srq=0x00 cm.rep.localcaguid=0x505400fffe000001',
  },
  {
    capture: 'rxe-6.1',
    frame: 107,
    mad: '01070203000000000000000263b446ac00130000000000002651d992ac46b4630000000000001300000000004007e500010178e0505400fffe000001',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x0000000263b446ac mad.attributeid=0x0013 mad.attributemodifier=0x00000000 cm.rep=0x2651d992 cm.rep.remotecommid=0xac46b463 cm.rep.localqkey=0x00000000 cm.rep.localqpn=0x000013 cm.rep.localeecn=0x000000 cm.rep.startpsn=0x4007e5 cm.rep.respres=0x01 cm.rep.initdepth=0x01 cm.rep.tgtackdelay=0x0f cm.rep.failoveracc=0x00 cm.rep.e2eflowctrl=0x00 cm.rep.rnrretrcount=0x07 cm.rep.srq=0x00 cm.rep.localcaguid=0x505400fffe000001',
  },
  {
    capture: 'rxe-6.1',
    frame: 108,
    mad: '01070203000000000000000263b446af0014000000000000af46b4632151d992',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x0000000263b446af mad.attributeid=0x0014 mad.attributemodifier=0x00000000 cm.rtu.localcommid=0xaf46b463 cm.rtu.remotecommid=0x2151d992',
  },
  {
    capture: 'rxe-6.1',
    frame: 109,
    mad: '01070203000000000000000263b446ac0014000000000000ac46b4632651d992',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x0000000263b446ac mad.attributeid=0x0014 mad.attributemodifier=0x00000000 cm.rtu.localcommid=0xac46b463 cm.rtu.remotecommid=0x2651d992',
  },
  {
    capture: 'rxe-6.1',
    frame: 146,
    mad: '01070203000000000000000292d9512100150000000000002151d992af46b463000012',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x0000000292d95121 mad.attributeid=0x0015 mad.attributemodifier=0x00000000 cm.dreq.localcommid=0x2151d992 cm.dreq.remotecommid=0xaf46b463 cm.req.remoteqpneecn=0x000012',
  },
  {
    capture: 'rxe-6.1',
    frame: 147,
    mad: '01070203000000000000000292d9512600150000000000002651d992ac46b463000013',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x0000000292d95126 mad.attributeid=0x0015 mad.attributemodifier=0x00000000 cm.dreq.localcommid=0x2651d992 cm.dreq.remotecommid=0xac46b463 cm.req.remoteqpneecn=0x000013',
  },
  {
    capture: 'rxe-6.1',
    frame: 148,
    mad: '01070203000000000000000292d951210016000000000000af46b4632151d992',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x0000000292d95121 mad.attributeid=0x0016 mad.attributemodifier=0x00000000 cm.drsp.localcommid=0xaf46b463 cm.drsp.remotecommid=0x2151d992',
  },
  {
    capture: 'rxe-6.1',
    frame: 149,
    mad: '01070203000000000000000292d951260016000000000000ac46b4632651d992',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x0000000292d95126 mad.attributeid=0x0016 mad.attributemodifier=0x00000000 cm.drsp.localcommid=0xac46b463 cm.drsp.remotecommid=0x2651d992',
  },
  {
    capture: 'rxe-6.1',
    frame: 152,
    mad: '01070203000000000000000263b446ad0017000000000000ad46b463ffff00000000000001111c060040d3490000000000000000000000000a4d00020000000000000000000000000a4d0001',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x0000000263b446ad mad.attributeid=0x0017 mad.attributemodifier=0x00000000',
  },
  {
    capture: 'rxe-6.1',
    frame: 153,
    mad: '01070203000000000000000263b446ad0018000000000000ad46b46300000000000014000000000001111c0601234567',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x0000000263b446ad mad.attributeid=0x0018 mad.attributemodifier=0x00000000',
  },
  {
    capture: 'rxe-6.1',
    frame: 160,
    mad: '01070203000000000000000263b446aa0010000000000000aa46b463000000000000000001061d2f505400fffe00000200000000000000000000158000000080000000a052b6f6a7ffff37f0ffffffff00000000000000000000ffff0a4d000200000000000000000000ffff0a4d00010aefa000004000980000000000000000000000000000000000000000000000000000000000000000000000000000000000000000004088d50000000000000000000000000a4d00020000000000000000000000000a4d0001',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x0000000263b446aa mad.attributeid=0x0010 mad.attributemodifier=0x00000000 cm.req=0xaa46b463 cm.req.serviceid=0x0000000001061d2f cm.req.localcaguid=0x505400fffe000002 cm.req.localqkey=0x00000000 cm.req.localqpn=0x000015 cm.req.responderres=0x80 cm.req.localeecn=0x000000 cm.req.initdepth=0x80 cm.req.remoteeecn=0x000000 cm.req.remoteresptout=0x14 cm.req.transpsvctype=0x00 cm.req.e2eflowctrl=0x00 cm.req.startpsn=0x52b6f6 cm.req.localresptout=0x14 cm.req.retrcount=0x07 cm.req.pkey=0xffff cm.req.pppmtu=0x03 cm.req.rdcexist=0x00 cm.req.rnrretrcount=0x07 cm.req.maxcmretr=0x0f cm.req.srq=0x00 cm.req.ext_transport=0x00 cm.req.prim_locallid=65535 cm.req.prim_remotelid=65535 cm.req.prim_localgid_ipv4=10.77.0.2 cm.req.prim_remotegid_ipv4=10.77.0.1 cm.req.prim_flowlabel=0x000000ae cm.req.prim_pktrate=0x0000000a cm.req.prim_tfcclass=0x00 cm.req.prim_hoplim=0x40 cm.req.prim_sl=0x00 cm.req.prim_subnetlocal=0x00 cm.req.prim_localacktout=0x13 cm.req.alt_locallid=0 cm.req.alt_remotelid=0 cm.req.alt_localgid=00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00 cm.req.alt_remotegid=00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00 cm.req.alt_flowlabel=0x00000000 cm.req.alt_pktrate=0x00000000 cm.req.alt_tfcclass=0x00 cm.req.alt_hoplim=0x00 cm.req.alt_sl=0x00 cm.req.alt_subnetlocal=0x00 cm.req.alt_localacktout=0x00 cm.req.ip_cm.majv=0x00 cm.req.ip_cm.minv=0x00 cm.req.ip_cm.ipv=0x04 cm.req.ip_cm.sport=0x88d5 cm.req.ip_cm.sip4=10.77.0.2 cm.req.ip_cm.dip4=10.77.0.1',
  },
  {
    capture: 'rxe-6.1',
    frame: 161,
    mad: '01070203000000000000000263b446aa00130000000000002a51d992aa46b46300000000000015000000000029369200808078e0505400fffe000001',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x0000000263b446aa mad.attributeid=0x0013 mad.attributemodifier=0x00000000 cm.rep=0x2a51d992 cm.rep.remotecommid=0xaa46b463 cm.rep.localqkey=0x00000000 cm.rep.localqpn=0x000015 cm.rep.localeecn=0x000000 cm.rep.startpsn=0x293692 cm.rep.respres=0x80 cm.rep.initdepth=0x80 cm.rep.tgtackdelay=0x0f cm.rep.failoveracc=0x00 cm.rep.e2eflowctrl=0x00 cm.rep.rnrretrcount=0x07 cm.rep.srq=0x00 cm.rep.localcaguid=0x505400fffe000001',
  },
  {
    capture: 'rxe-6.1',
    frame: 162,
    mad: '01070203000000000000000263b446aa0014000000000000aa46b4632a51d992',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x0000000263b446aa mad.attributeid=0x0014 mad.attributemodifier=0x00000000 cm.rtu.localcommid=0xaa46b463 cm.rtu.remotecommid=0x2a51d992',
  },
  {
    capture: 'rxe-6.1',
    frame: 167,
    mad: '01070203000000000000000292d9512a00150000000000002a51d992aa46b463000015',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x0000000292d9512a mad.attributeid=0x0015 mad.attributemodifier=0x00000000 cm.dreq.localcommid=0x2a51d992 cm.dreq.remotecommid=0xaa46b463 cm.req.remoteqpneecn=0x000015',
  },
  {
    capture: 'rxe-6.1',
    frame: 168,
    mad: '01070203000000000000000263b446aa0015000000000000aa46b4632a51d992000015',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x0000000263b446aa mad.attributeid=0x0015 mad.attributemodifier=0x00000000 cm.dreq.localcommid=0xaa46b463 cm.dreq.remotecommid=0x2a51d992 cm.req.remoteqpneecn=0x000015',
  },
  {
    capture: 'rxe-6.1',
    frame: 169,
    mad: '01070203000000000000000263b446aa00160000000000002a51d992aa46b463',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x0000000263b446aa mad.attributeid=0x0016 mad.attributemodifier=0x00000000 cm.drsp.localcommid=0x2a51d992 cm.drsp.remotecommid=0xaa46b463',
  },
  {
    capture: 'rxe-6.12',
    frame: 17,
    mad: '0107020300000000000000023642dee60010000000000000e6de4236000000000000000001061c06505400fffe00000200000000000000000000110100000001000000a05534d0a7ffff37f0ffffffff00000000000000000000ffff0a4d000200000000000000000000ffff0a4d00016b9460000040008800000000000000000000000000000000000000000000000000000000000000000000000000000000000000000040bac00000000000000000000000000a4d00020000000000000000000000000a4d0001',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x000000023642dee6 mad.attributeid=0x0010 mad.attributemodifier=0x00000000 cm.req=0xe6de4236 cm.req.serviceid=0x0000000001061c06 cm.req.localcaguid=0x505400fffe000002 cm.req.localqkey=0x00000000 cm.req.localqpn=0x000011 cm.req.responderres=0x01 cm.req.localeecn=0x000000 cm.req.initdepth=0x01 cm.req.remoteeecn=0x000000 cm.req.remoteresptout=0x14 cm.req.transpsvctype=0x00 cm.req.e2eflowctrl=0x00 cm.req.startpsn=0x5534d0 cm.req.localresptout=0x14 cm.req.retrcount=0x07 cm.req.pkey=0xffff cm.req.pppmtu=0x03 cm.req.rdcexist=0x00 cm.req.rnrretrcount=0x07 cm.req.maxcmretr=0x0f cm.req.srq=0x00 cm.req.ext_transport=0x00 cm.req.prim_locallid=65535 cm.req.prim_remotelid=65535 cm.req.prim_localgid_ipv4=10.77.0.2 cm.req.prim_remotegid_ipv4=10.77.0.1 cm.req.prim_flowlabel=0x000006b9 cm.req.prim_pktrate=0x0000002b cm.req.prim_tfcclass=0x00 cm.req.prim_hoplim=0x40 cm.req.prim_sl=0x00 cm.req.prim_subnetlocal=0x00 cm.req.prim_localacktout=0x11 cm.req.alt_locallid=0 cm.req.alt_remotelid=0 cm.req.alt_localgid=00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00 cm.req.alt_remotegid=00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00 cm.req.alt_flowlabel=0x00000000 cm.req.alt_pktrate=0x00000000 cm.req.alt_tfcclass=0x00 cm.req.alt_hoplim=0x00 cm.req.alt_sl=0x00 cm.req.alt_subnetlocal=0x00 cm.req.alt_localacktout=0x00 cm.req.ip_cm.majv=0x00 cm.req.ip_cm.minv=0x00 cm.req.ip_cm.ipv=0x04 cm.req.ip_cm.sport=0xbac0 cm.req.ip_cm.sip4=10.77.0.2 cm.req.ip_cm.dip4=10.77.0.1',
  },
  {
    capture: 'rxe-6.12',
    frame: 18,
    mad: '0107020300000000000000023642dee600130000000000008bf76a58e6de4236000000000000110000000000c116a400010178e0505400fffe000001',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x000000023642dee6 mad.attributeid=0x0013 mad.attributemodifier=0x00000000 cm.rep=0x8bf76a58 cm.rep.remotecommid=0xe6de4236 cm.rep.localqkey=0x00000000 cm.rep.localqpn=0x000011 cm.rep.localeecn=0x000000 cm.rep.startpsn=0xc116a4 cm.rep.respres=0x01 cm.rep.initdepth=0x01 cm.rep.tgtackdelay=0x0f cm.rep.failoveracc=0x00 cm.rep.e2eflowctrl=0x00 cm.rep.rnrretrcount=0x07 cm.rep.srq=0x00 cm.rep.localcaguid=0x505400fffe000001',
  },
  {
    capture: 'rxe-6.12',
    frame: 19,
    mad: '0107020300000000000000023642dee60014000000000000e6de42368bf76a58',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x000000023642dee6 mad.attributeid=0x0014 mad.attributemodifier=0x00000000 cm.rtu.localcommid=0xe6de4236 cm.rtu.remotecommid=0x8bf76a58',
  },
  {
    capture: 'rxe-6.12',
    frame: 100,
    mad: '0107020300000000000000023642dee60015000000000000e6de42368bf76a58000011',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x000000023642dee6 mad.attributeid=0x0015 mad.attributemodifier=0x00000000 cm.dreq.localcommid=0xe6de4236 cm.dreq.remotecommid=0x8bf76a58 cm.req.remoteqpneecn=0x000011',
  },
  {
    capture: 'rxe-6.12',
    frame: 101,
    mad: '0107020300000000000000023642dee600160000000000008bf76a58e6de4236',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x000000023642dee6 mad.attributeid=0x0016 mad.attributemodifier=0x00000000 cm.drsp.localcommid=0x8bf76a58 cm.drsp.remotecommid=0xe6de4236',
  },
  {
    capture: 'rxe-6.12',
    frame: 104,
    mad: '0107020300000000000000023642dee70010000000000000e7de4236000000000000000001061d2f505400fffe00000200000000000000000000120100000001000000a0876de2a5ffff30f0ffffffff00000000000000000000ffff0a4d000200000000000000000000ffff0a4d0001cbde60000040008800000000000000000000000000000000000000000000000000000000000000000000000000000000000000000040ec690000000000000000000000000a4d00020000000000000000000000000a4d0001',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x000000023642dee7 mad.attributeid=0x0010 mad.attributemodifier=0x00000000 cm.req=0xe7de4236 cm.req.serviceid=0x0000000001061d2f cm.req.localcaguid=0x505400fffe000002 cm.req.localqkey=0x00000000 cm.req.localqpn=0x000012 cm.req.responderres=0x01 cm.req.localeecn=0x000000 cm.req.initdepth=0x01 cm.req.remoteeecn=0x000000 cm.req.remoteresptout=0x14 cm.req.transpsvctype=0x00 cm.req.e2eflowctrl=0x00 cm.req.startpsn=0x876de2 cm.req.localresptout=0x14 cm.req.retrcount=0x05 cm.req.pkey=0xffff cm.req.pppmtu=0x03 cm.req.rdcexist=0x00 cm.req.rnrretrcount=0x00 cm.req.maxcmretr=0x0f cm.req.srq=0x00 cm.req.ext_transport=0x00 cm.req.prim_locallid=65535 cm.req.prim_remotelid=65535 cm.req.prim_localgid_ipv4=10.77.0.2 cm.req.prim_remotegid_ipv4=10.77.0.1 cm.req.prim_flowlabel=0x00000cbd cm.req.prim_pktrate=0x0000000b cm.req.prim_tfcclass=0x00 cm.req.prim_hoplim=0x40 cm.req.prim_sl=0x00 cm.req.prim_subnetlocal=0x00 cm.req.prim_localacktout=0x11 cm.req.alt_locallid=0 cm.req.alt_remotelid=0 cm.req.alt_localgid=00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00 cm.req.alt_remotegid=00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00 cm.req.alt_flowlabel=0x00000000 cm.req.alt_pktrate=0x00000000 cm.req.alt_tfcclass=0x00 cm.req.alt_hoplim=0x00 cm.req.alt_sl=0x00 cm.req.alt_subnetlocal=0x00 cm.req.alt_localacktout=0x00 cm.req.ip_cm.majv=0x00 cm.req.ip_cm.minv=0x00 cm.req.ip_cm.ipv=0x04 cm.req.ip_cm.sport=0xec69 cm.req.ip_cm.sip4=10.77.0.2 cm.req.ip_cm.dip4=10.77.0.1',
  },
  {
    capture: 'rxe-6.12',
    frame: 105,
    mad: '0107020300000000000000023642dee40010000000000000e4de4236000000000000000001061d2f505400fffe00000200000000000000000000130100000001000000a0414d74a5ffff30f0ffffffff00000000000000000000ffff0a4d000200000000000000000000ffff0a4d00010da9200000400088000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000408a3d0000000000000000000000000a4d00020000000000000000000000000a4d0001',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x000000023642dee4 mad.attributeid=0x0010 mad.attributemodifier=0x00000000 cm.req=0xe4de4236 cm.req.serviceid=0x0000000001061d2f cm.req.localcaguid=0x505400fffe000002 cm.req.localqkey=0x00000000 cm.req.localqpn=0x000013 cm.req.responderres=0x01 cm.req.localeecn=0x000000 cm.req.initdepth=0x01 cm.req.remoteeecn=0x000000 cm.req.remoteresptout=0x14 cm.req.transpsvctype=0x00 cm.req.e2eflowctrl=0x00 cm.req.startpsn=0x414d74 cm.req.localresptout=0x14 cm.req.retrcount=0x05 cm.req.pkey=0xffff cm.req.pppmtu=0x03 cm.req.rdcexist=0x00 cm.req.rnrretrcount=0x00 cm.req.maxcmretr=0x0f cm.req.srq=0x00 cm.req.ext_transport=0x00 cm.req.prim_locallid=65535 cm.req.prim_remotelid=65535 cm.req.prim_localgid_ipv4=10.77.0.2 cm.req.prim_remotegid_ipv4=10.77.0.1 cm.req.prim_flowlabel=0x000000da cm.req.prim_pktrate=0x0000000d cm.req.prim_tfcclass=0x00 cm.req.prim_hoplim=0x40 cm.req.prim_sl=0x00 cm.req.prim_subnetlocal=0x00 cm.req.prim_localacktout=0x11 cm.req.alt_locallid=0 cm.req.alt_remotelid=0 cm.req.alt_localgid=00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00 cm.req.alt_remotegid=00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00 cm.req.alt_flowlabel=0x00000000 cm.req.alt_pktrate=0x00000000 cm.req.alt_tfcclass=0x00 cm.req.alt_hoplim=0x00 cm.req.alt_sl=0x00 cm.req.alt_subnetlocal=0x00 cm.req.alt_localacktout=0x00 cm.req.ip_cm.majv=0x00 cm.req.ip_cm.minv=0x00 cm.req.ip_cm.ipv=0x04 cm.req.ip_cm.sport=0x8a3d cm.req.ip_cm.sip4=10.77.0.2 cm.req.ip_cm.dip4=10.77.0.1',
  },
  {
    capture: 'rxe-6.12',
    frame: 106,
    mad: '0107020300000000000000023642dee7001300000000000089f76a58e7de423600000000000012000000000037264900010178e0505400fffe000001',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x000000023642dee7 mad.attributeid=0x0013 mad.attributemodifier=0x00000000 cm.rep=0x89f76a58 cm.rep.remotecommid=0xe7de4236 cm.rep.localqkey=0x00000000 cm.rep.localqpn=0x000012 cm.rep.localeecn=0x000000 cm.rep.startpsn=0x372649 cm.rep.respres=0x01 cm.rep.initdepth=0x01 cm.rep.tgtackdelay=0x0f cm.rep.failoveracc=0x00 cm.rep.e2eflowctrl=0x00 cm.rep.rnrretrcount=0x07 cm.rep.srq=0x00 cm.rep.localcaguid=0x505400fffe000001',
  },
  {
    capture: 'rxe-6.12',
    frame: 107,
    mad: '0107020300000000000000023642dee70014000000000000e7de423689f76a58',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x000000023642dee7 mad.attributeid=0x0014 mad.attributemodifier=0x00000000 cm.rtu.localcommid=0xe7de4236 cm.rtu.remotecommid=0x89f76a58',
  },
  {
    capture: 'rxe-6.12',
    frame: 108,
    mad: '0107020300000000000000023642dee400130000000000008ef76a58e4de4236000000000000130000000000834fa600010178e0505400fffe000001',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x000000023642dee4 mad.attributeid=0x0013 mad.attributemodifier=0x00000000 cm.rep=0x8ef76a58 cm.rep.remotecommid=0xe4de4236 cm.rep.localqkey=0x00000000 cm.rep.localqpn=0x000013 cm.rep.localeecn=0x000000 cm.rep.startpsn=0x834fa6 cm.rep.respres=0x01 cm.rep.initdepth=0x01 cm.rep.tgtackdelay=0x0f cm.rep.failoveracc=0x00 cm.rep.e2eflowctrl=0x00 cm.rep.rnrretrcount=0x07 cm.rep.srq=0x00 cm.rep.localcaguid=0x505400fffe000001',
  },
  {
    capture: 'rxe-6.12',
    frame: 109,
    mad: '0107020300000000000000023642dee40014000000000000e4de42368ef76a58',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x000000023642dee4 mad.attributeid=0x0014 mad.attributemodifier=0x00000000 cm.rtu.localcommid=0xe4de4236 cm.rtu.remotecommid=0x8ef76a58',
  },
  {
    capture: 'rxe-6.12',
    frame: 146,
    mad: '010702030000000000000002586af789001500000000000089f76a58e7de4236000012',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x00000002586af789 mad.attributeid=0x0015 mad.attributemodifier=0x00000000 cm.dreq.localcommid=0x89f76a58 cm.dreq.remotecommid=0xe7de4236 cm.req.remoteqpneecn=0x000012',
  },
  {
    capture: 'rxe-6.12',
    frame: 147,
    mad: '010702030000000000000002586af78e00150000000000008ef76a58e4de4236000013',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x00000002586af78e mad.attributeid=0x0015 mad.attributemodifier=0x00000000 cm.dreq.localcommid=0x8ef76a58 cm.dreq.remotecommid=0xe4de4236 cm.req.remoteqpneecn=0x000013',
  },
  {
    capture: 'rxe-6.12',
    frame: 148,
    mad: '010702030000000000000002586af7890016000000000000e7de423689f76a58',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x00000002586af789 mad.attributeid=0x0016 mad.attributemodifier=0x00000000 cm.drsp.localcommid=0xe7de4236 cm.drsp.remotecommid=0x89f76a58',
  },
  {
    capture: 'rxe-6.12',
    frame: 149,
    mad: '010702030000000000000002586af78e0016000000000000e4de42368ef76a58',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x00000002586af78e mad.attributeid=0x0016 mad.attributemodifier=0x00000000 cm.drsp.localcommid=0xe4de4236 cm.drsp.remotecommid=0x8ef76a58',
  },
  {
    capture: 'rxe-6.12',
    frame: 152,
    mad: '0107020300000000000000023642dee50017000000000000e5de4236ffff00000000000001111c0600408dfc0000000000000000000000000a4d00020000000000000000000000000a4d0001',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x000000023642dee5 mad.attributeid=0x0017 mad.attributemodifier=0x00000000',
  },
  {
    capture: 'rxe-6.12',
    frame: 153,
    mad: '0107020300000000000000023642dee50018000000000000e5de423600000000000014000000000001111c0601234567',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x000000023642dee5 mad.attributeid=0x0018 mad.attributemodifier=0x00000000',
  },
  {
    capture: 'rxe-6.12',
    frame: 160,
    mad: '0107020300000000000000023642dee20010000000000000e2de4236000000000000000001061d2f505400fffe00000200000000000000000000158000000080000000a07f88ffa7ffff37f0ffffffff00000000000000000000ffff0a4d000200000000000000000000ffff0a4d0001932e80000040008800000000000000000000000000000000000000000000000000000000000000000000000000000000000000000040cf270000000000000000000000000a4d00020000000000000000000000000a4d0001',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x000000023642dee2 mad.attributeid=0x0010 mad.attributemodifier=0x00000000 cm.req=0xe2de4236 cm.req.serviceid=0x0000000001061d2f cm.req.localcaguid=0x505400fffe000002 cm.req.localqkey=0x00000000 cm.req.localqpn=0x000015 cm.req.responderres=0x80 cm.req.localeecn=0x000000 cm.req.initdepth=0x80 cm.req.remoteeecn=0x000000 cm.req.remoteresptout=0x14 cm.req.transpsvctype=0x00 cm.req.e2eflowctrl=0x00 cm.req.startpsn=0x7f88ff cm.req.localresptout=0x14 cm.req.retrcount=0x07 cm.req.pkey=0xffff cm.req.pppmtu=0x03 cm.req.rdcexist=0x00 cm.req.rnrretrcount=0x07 cm.req.maxcmretr=0x0f cm.req.srq=0x00 cm.req.ext_transport=0x00 cm.req.prim_locallid=65535 cm.req.prim_remotelid=65535 cm.req.prim_localgid_ipv4=10.77.0.2 cm.req.prim_remotegid_ipv4=10.77.0.1 cm.req.prim_flowlabel=0x00000932 cm.req.prim_pktrate=0x00000013 cm.req.prim_tfcclass=0x00 cm.req.prim_hoplim=0x40 cm.req.prim_sl=0x00 cm.req.prim_subnetlocal=0x00 cm.req.prim_localacktout=0x11 cm.req.alt_locallid=0 cm.req.alt_remotelid=0 cm.req.alt_localgid=00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00 cm.req.alt_remotegid=00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00 cm.req.alt_flowlabel=0x00000000 cm.req.alt_pktrate=0x00000000 cm.req.alt_tfcclass=0x00 cm.req.alt_hoplim=0x00 cm.req.alt_sl=0x00 cm.req.alt_subnetlocal=0x00 cm.req.alt_localacktout=0x00 cm.req.ip_cm.majv=0x00 cm.req.ip_cm.minv=0x00 cm.req.ip_cm.ipv=0x04 cm.req.ip_cm.sport=0xcf27 cm.req.ip_cm.sip4=10.77.0.2 cm.req.ip_cm.dip4=10.77.0.1',
  },
  {
    capture: 'rxe-6.12',
    frame: 161,
    mad: '0107020300000000000000023642dee2001300000000000082f76a58e2de4236000000000000150000000000ca360000808078e0505400fffe000001',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x000000023642dee2 mad.attributeid=0x0013 mad.attributemodifier=0x00000000 cm.rep=0x82f76a58 cm.rep.remotecommid=0xe2de4236 cm.rep.localqkey=0x00000000 cm.rep.localqpn=0x000015 cm.rep.localeecn=0x000000 cm.rep.startpsn=0xca3600 cm.rep.respres=0x80 cm.rep.initdepth=0x80 cm.rep.tgtackdelay=0x0f cm.rep.failoveracc=0x00 cm.rep.e2eflowctrl=0x00 cm.rep.rnrretrcount=0x07 cm.rep.srq=0x00 cm.rep.localcaguid=0x505400fffe000001',
  },
  {
    capture: 'rxe-6.12',
    frame: 162,
    mad: '0107020300000000000000023642dee20014000000000000e2de423682f76a58',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x000000023642dee2 mad.attributeid=0x0014 mad.attributemodifier=0x00000000 cm.rtu.localcommid=0xe2de4236 cm.rtu.remotecommid=0x82f76a58',
  },
  {
    capture: 'rxe-6.12',
    frame: 167,
    mad: '010702030000000000000002586af782001500000000000082f76a58e2de4236000015',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x00000002586af782 mad.attributeid=0x0015 mad.attributemodifier=0x00000000 cm.dreq.localcommid=0x82f76a58 cm.dreq.remotecommid=0xe2de4236 cm.req.remoteqpneecn=0x000015',
  },
  {
    capture: 'rxe-6.12',
    frame: 168,
    mad: '0107020300000000000000023642dee20015000000000000e2de423682f76a58000015',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x000000023642dee2 mad.attributeid=0x0015 mad.attributemodifier=0x00000000 cm.dreq.localcommid=0xe2de4236 cm.dreq.remotecommid=0x82f76a58 cm.req.remoteqpneecn=0x000015',
  },
  {
    capture: 'rxe-6.12',
    frame: 169,
    mad: '0107020300000000000000023642dee2001600000000000082f76a58e2de4236',
    tshark:
      'mad.baseversion=0x01 mad.mgmtclass=0x07 mad.classversion=0x02 mad.method=0x03 mad.status=0x0000 mad.classspecific=0x0000 mad.transactionid=0x000000023642dee2 mad.attributeid=0x0016 mad.attributemodifier=0x00000000 cm.drsp.localcommid=0x82f76a58 cm.drsp.remotecommid=0xe2de4236',
  },
];
